import { Injectable, type ModuleMetadata } from '@nestjs/common';
import { defineJob, GearMonkeyClient, GearMonkeyModule, Worker, type RunningJob } from 'nestjs-gearmonkey';
import { DashboardModule, type DashboardOptions } from 'nestjs-gearmonkey/dashboard';

export const resize = defineJob<{ path: string; outcome?: string }, { bytes: number }>('resize', {
  retry: { attempts: 1 },
});
export const mail = defineJob<{ to: string; fails?: boolean }>('mail');
export const report = defineJob<{ tenant: string }>('report', {
  limit: { key: ({ tenant }) => tenant, concurrency: 1 },
});

/** Lets go of what is held. */
export class Gates {
  readonly #open = new Map<string, () => void>();
  readonly #early = new Set<string>();

  hold(name: string): Promise<void> {
    if (this.#early.delete(name)) return Promise.resolve();
    return new Promise((resolve) => this.#open.set(name, resolve));
  }

  /** What is not held yet will not be. */
  letGo(name: string): void {
    const open = this.#open.get(name);
    if (open) open();
    else this.#early.add(name);
  }
}

/** With a stack that is the same everywhere. */
function missing(path: string): Error {
  const error = new Error(`no such picture: ${path}`);
  error.stack = `Error: ${error.message}\n    at Pictures.open (/app/dist/pictures.js:31:11)\n    at Pictures.resize (/app/dist/pictures.js:17:9)`;
  return error;
}

/** An app whose handlers do what their inputs say. */
export function pageApp(
  connection: string,
  options: Partial<DashboardOptions> = {},
): { module: ModuleMetadata; gates: Gates } {
  const gates = new Gates();

  @Injectable()
  class Handlers {
    @Worker(resize)
    async resize({ path, outcome }: { path: string; outcome?: string }, job: RunningJob) {
      await job.update(1, 2);
      await job.step('measure', () => 7);
      if (outcome === 'stream') {
        await job.log('begins <b>bold</b>');
        for (const word of ['one ', 'two ', { n: 3 }]) await job.chunk(word);
        await gates.hold(path);
        await job.chunk('the end');
        await job.log('ends');
      }
      if (outcome === 'hold') await gates.hold(path);
      if (outcome === 'wait') await job.waitFor('approved', { timeout: '7d' });
      await job.update(2, 2);
      if (outcome === 'fail') throw missing(path);
      return { bytes: path.length };
    }

    @Worker(mail)
    mail({ to, fails }: { to: string; fails?: boolean }) {
      if (fails) throw Object.assign(new Error(`550 no such user ${to}`), { code: 'SMTP' });
    }

    @Worker(report, { concurrency: 5 })
    async report({ tenant }: { tenant: string }) {
      await gates.hold(tenant);
    }
  }

  return {
    gates,
    module: {
      imports: [
        GearMonkeyModule.forRoot({ connection }),
        DashboardModule.forRoot({ path: '/jobs', ...options }),
      ],
      providers: [Handlers],
    },
  };
}

/** Jobs in all states. */
export async function enqueueSome(client: GearMonkeyClient): Promise<void> {
  for (let n = 0; n < 12; n++) await client.run(resize, { path: `${n}.jpg` }, { tags: [`album:${n % 3}`] });
  for (let n = 0; n < 3; n++) await client.run(resize, { path: `missing-${n}.jpg`, outcome: 'fail' });
  await client.run(resize, { path: 'large.tif', outcome: 'hold' }, { headers: { trace: 'abc' } });
  for (let n = 0; n < 4; n++) await client.run(mail, { to: `user${n}@example.com`, fails: n > 1 });
  await client.run(mail, { to: 'later@example.com' }, { delay: '3h' });
  for (const tenant of ['ada', 'ada', 'ben', 'ada']) await client.run(report, { tenant });
  for (let n = 0; n < 5; n++) await client.run('unserved', { n });
  await client.recur(mail, {
    id: 'newsletter',
    cron: '0 9 * * 1-5',
    timezone: 'Europe/Berlin',
    input: { to: 'all' },
  });
  await client.recur(report, { id: 'monthly', cron: '@monthly', input: { tenant: 'all' } });
}
