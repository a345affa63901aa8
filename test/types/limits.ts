import { z } from 'zod';
import {
  HoldKeyError,
  LimitFullError,
  Worker,
  defineJob,
  defineLimit,
  type GearMonkeyClient,
  type GearMonkeyWorkers,
  type LimitState,
  type RunningJob,
} from 'nestjs-gearmonkey';
import { same } from './definitions.js';

interface Report {
  tenant: string;
  pages: number;
}

declare const jobs: GearMonkeyClient;
declare const workers: GearMonkeyWorkers;
const openai = defineLimit('openai', { concurrency: 4, rate: { max: 10, per: '1s' } });

/** The key gets what clients pass. */
export const report = defineJob<Report>('report', {
  limit: { key: ({ tenant }) => tenant, concurrency: 2, onFull: 'replace', replace: 'running' },
});
export const checked = defineJob('checked', {
  input: z.object({ text: z.string().transform((text) => text.length) }),
  limit: { key: ({ text }) => text.trim(), order: 'strict', onFull: 'refuse' },
});
export const packed = defineJob<{ at: Date }>('packed', {
  codec: 'msgpack',
  limit: { key: ({ at }) => at.toISOString(), rate: { max: 1, per: 5 } },
});
export const shared = [
  defineJob<Report>('a', { limit: openai }),
  defineJob<Report>('b', { limit: { shared: openai, key: ({ tenant }) => tenant } }),
  defineJob('c', { limit: { key: ({ tenant }: Report) => tenant, concurrency: 1 } }),
];

export class Handlers {
  @Worker(report, { limit: { key: ({ tenant }) => tenant, concurrency: 2 } })
  keyed(_input: Report) {}
  @Worker(report, () => ({ limit: { key: ({ tenant }) => tenant, concurrency: 2 } }))
  configured() {}
  @Worker(report, { useFactory: () => ({ limit: openai }) })
  made() {}
  @Worker('report', { limit: { key: ({ tenant }: Report) => tenant, rate: { max: 1, per: '1s' } } })
  named() {}
  @Worker(report)
  held(_input: Report, job: RunningJob<Report>): string {
    // It never returns, so no other result is needed.
    return job.holdKey('30s');
  }

  // @ts-expect-error no such property
  @Worker(report, { limit: { key: ({ customer }) => String(customer), concurrency: 2 } })
  wrong() {}
}

export const calls = [
  jobs.limits(report),
  jobs.limits('report', { key: 'acme', size: 10 }),
  jobs.setLimit(report, { concurrency: 2 }),
  jobs.resetLimit(report),
  workers.add(report, () => undefined, { limit: { key: ({ pages }) => String(pages), concurrency: 1 } }),
];
same<Awaited<ReturnType<GearMonkeyClient['limits']>>, LimitState[]>();
same<LimitFullError['until'], Date | undefined>();
same<HoldKeyError['code'], 'HOLD_KEY'>();

// @ts-expect-error no such property
defineJob<Report>('bad', { limit: { key: ({ customer }) => String(customer), concurrency: 1 } });
// @ts-expect-error a key is text
defineJob<Report>('bad', { limit: { key: ({ pages }) => pages, concurrency: 1 } });
// @ts-expect-error a key is not a Promise
defineJob<Report>('bad', { limit: { key: async ({ tenant }) => tenant, concurrency: 1 } });
// @ts-expect-error no such order
defineJob('bad', { limit: { order: 'random' } });
// @ts-expect-error a rate needs both
defineJob('bad', { limit: { rate: { max: 1 } } });
// @ts-expect-error the name alone
defineJob('bad', { limit: 'openai' });
// @ts-expect-error only numbers change
jobs.setLimit(report, { order: 'strict' });
// @ts-expect-error its numbers can't be changed
openai.concurrency = 5;
