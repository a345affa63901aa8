import { describe, expect, it } from '@jest/globals';
import { defineJob } from '../../lib/job/job-definition.js';
import type { Claim, JobSource, Outcome, SourceLimit } from '../../lib/job/job-source.js';
import type { KeepOptions } from '../../lib/job/keep.js';
import { ALL_CAPABILITIES } from '../../lib/job/source-capabilities.js';
import { bindHandler, type JobHandler } from '../../lib/worker/job-handler.js';
import { giveKeep } from '../../lib/worker/job-worker.js';
import { FunctionSlots } from '../../lib/worker/function-slots.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually } from '../support/until.js';

const mail = defineJob<{ tenant: string }>('mail', {
  limit: { key: ({ tenant }) => tenant, concurrency: 2 },
});

const claim: Claim = {
  fn: 'mail',
  id: '1',
  token: 1,
  input: Buffer.from('{"tenant":"acme"}'),
  attempts: 1,
  stalls: 0,
  options: {},
};

/** A source with one job, which keeps what its worker tells it. */
class OneJob implements JobSource {
  capabilities = ALL_CAPABILITIES;
  readonly calls: string[] = [];
  readonly given = new Map<string, SourceLimit>();
  readonly settled: Outcome[] = [];
  private jobs: Claim[] = [claim];

  readonly limits?: JobSource['limits'] = {
    set: (fn, limit) => {
      this.calls.push(`limit ${fn}`);
      this.given.set(fn, limit);
    },
  };

  async open(functions: readonly string[]): Promise<void> {
    this.calls.push(`open ${functions.join()}`);
  }

  async claim(_: unknown, signal: AbortSignal): Promise<readonly Claim[]> {
    const [first] = this.jobs.splice(0);
    if (first) return [first];
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    return [];
  }

  renew = () => Promise.resolve([]);
  progress = () => Promise.resolve(true);
  close = () => Promise.resolve();

  async settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]> {
    this.settled.push(...outcomes);
    return [];
  }
}

const HOLD: JobHandler = (_, job) => job.holdKey('30s');

describe('giveKeep', () => {
  it('says of each function how long its jobs are kept, also that its definition says nothing any more', () => {
    const kept: unknown[] = [];
    const source = {
      address: 'here',
      keep: { set: (fn: string, keep: object) => void kept.push([fn, keep]) },
    };
    const bind = (keep?: KeepOptions) => bindHandler(defineJob('mail', { keep }), {}, () => undefined);
    giveKeep(source, [bind({ error: { count: 5 } })]);
    giveKeep(source, [bind()]);
    expect(kept).toEqual([
      ['mail', { error: { count: 5 } }],
      ['mail', {}],
    ]);
  });
});

describe('A worker of a function with a limit', () => {
  stopWorkersAfterEach();

  it('says to its source how long ended jobs are kept before it opens it', async () => {
    const source = new OneJob();
    Object.assign(source, { keep: { set: (fn: string) => void source.calls.push(`keep ${fn}`) } });
    await runWorker(source, mail, () => 1);
    expect(source.calls).toEqual(['limit mail', 'keep mail', 'open mail']);
  });

  it('gives the limit to its source before it opens it', async () => {
    const source = new OneJob();
    await runWorker(source, mail, () => 1);
    expect(source.calls).toEqual(['limit mail', 'open mail']);
    expect(source.given.get('mail')?.rules).toEqual({ concurrency: 2, order: 'fair' });
  });

  it('makes keys of inputs as they were sent', async () => {
    const source = new OneJob();
    await runWorker(source, mail, () => 1);
    const keyOf = (input: string | number[]) => source.given.get('mail')?.keyOf(Buffer.from(input as string));
    expect(keyOf('{"tenant":"acme"}')).toBe('acme');
    expect(() => keyOf('{}')).toThrow(expect.objectContaining({ code: 'LIMIT_KEY' }));
    expect(() => keyOf([0xff])).toThrow(expect.objectContaining({ code: 'UNREADABLE_PAYLOAD' }));
  });

  it('gives the limit of a handler that is added later, too', async () => {
    const source = new OneJob();
    const { worker } = await runWorker(source, 'other', () => 1);
    await worker.add(bindHandler(mail, {}, () => 1));
    expect(source.calls).toEqual(['open other', 'limit mail', 'open mail']);
  });

  it.each<[string, (source: OneJob) => void]>([
    ['that lacks limits', (source) => (source.capabilities = { ...ALL_CAPABILITIES, limits: false })],
    ['without a way to give it', (source) => Object.assign(source, { limits: undefined })],
  ])('does not start with a source %s', async (_, change) => {
    const source = new OneJob();
    change(source);
    const starting = runWorker(source, mail, () => 1);
    await expect(starting).rejects.toMatchObject({ code: 'CONFIGURATION' });
    await expect(starting).rejects.toThrow(
      '"mail" has a `limit`, which is for jobs of GearMonkey and memory',
    );
    expect(source.calls).toEqual([]);
  });

  it('claims no job ahead: its claim would count', () => {
    const slots = new FunctionSlots(
      bindHandler(mail, {}, () => 1),
      true,
    );
    slots.take(claim, 0);
    slots.ended(claim, 0.01);
    expect(slots.free).toBe(1);
  });
});

describe('job.holdKey', () => {
  stopWorkersAfterEach();

  it('ends the run with the outcome `held`', async () => {
    const source = new OneJob();
    let after = false;
    const { said } = await runWorker(source, mail, (_, job) => {
      job.holdKey('30s');
      after = true;
    });
    await eventually(() => expect(source.settled).toMatchObject([{ claim, status: 'held', delay: 30_000 }]));
    expect([after, said]).toEqual([false, []]);
  });

  it.each<[string, JobHandler]>([
    ['an async handler', async (_, job) => job.holdKey(5)],
    ['a Promise', (_, job) => Promise.resolve().then(() => job.holdKey(5))],
    [
      'a generator',
      function* (_, job) {
        yield;
        job.holdKey(5);
      },
    ],
  ])('may be called in %s', async (_, handle) => {
    const source = new OneJob();
    await runWorker(source, mail, handle);
    await eventually(() => expect(source.settled).toMatchObject([{ status: 'held', delay: 5 }]));
  });

  it('fails the job of a function without a limit, and says what to do', async () => {
    const source = new OneJob();
    await runWorker(source, 'mail', HOLD);
    await eventually(() => expect(source.settled).toHaveLength(1));
    expect(source.settled).toMatchObject([
      { status: 'error', error: { code: 'CONFIGURATION', message: expect.stringContaining('a `limit`') } },
    ]);
  });

  it('fails the attempt when its span is none', async () => {
    const source = new OneJob();
    await runWorker(source, mail, (_, job) => job.holdKey('soon'));
    await eventually(() =>
      expect(source.settled).toMatchObject([{ status: 'error', error: { code: 'INVALID_OPTION' } }]),
    );
  });
});
