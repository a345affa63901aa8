import { describe, expect, it } from '@jest/globals';
import {
  Injectable,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
  type Type,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import {
  GearMonkeyClient,
  GearMonkeyExceptionFilter,
  GearMonkeyModule,
  GearMonkeyWorkers,
  Worker,
  defineJob,
  type JobSource,
  type LimitOptions,
  type RunningJob,
} from 'nestjs-gearmonkey';
import { jobd } from 'nestjs-gearmonkey/jobd';
import { jq } from 'nestjs-gearmonkey/jq';
import { qless } from 'nestjs-gearmonkey/qless';
import { useApps } from '../support/use-apps.js';

const apps = useApps();
const STRICT: LimitOptions = { order: 'strict' };
const mail = defineJob('mail', { limit: STRICT });

class Passing implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler) {
    return next.handle();
  }
}

function handlers(limit: unknown): Type {
  @Injectable()
  class Mails {
    @Worker('mail', { limit: limit as LimitOptions })
    send() {}
  }
  return Mails;
}

const memory = (workers?: boolean) => GearMonkeyModule.forRoot({ connection: 'memory:', workers });

/** Whether the client knows that the order of the function is strict: then jobs have no priority. */
const isStrict = (client: GearMonkeyClient, ref: typeof mail | string = 'mail') =>
  client.run(ref, {}, { priority: 'high' }).then(
    () => false,
    (error: Error) => error.message.includes('strict'),
  );

describe('The limit of a handler', () => {
  it.each<[string, unknown, string]>([
    ['a bad option', { concurrency: 0 }, 'Expected `limit.concurrency of Mails.send` to be a whole number'],
    ['an unknown option', { concurency: 1 }, 'Mails.send: limit has no option `concurency`. Did you mean'],
    ['no limit at all', {}, 'Expected `limit of Mails.send` to be given at least one of'],
  ])('with %s keeps the app from starting', async (_, limit, message) => {
    const starting = apps.start({ imports: [memory()], providers: [handlers(limit)] });
    await expect(starting).rejects.toThrow(message);
  });

  it('may come from the configuration', async () => {
    @Injectable()
    class Configured {
      @Worker('mail', () => ({ limit: STRICT }))
      send() {}
    }
    const app = await apps.start({ imports: [memory()], providers: [Configured] });
    await expect(isStrict(app.get(GearMonkeyClient))).resolves.toBe(true);
  });

  it.each([[true], [false]])(
    'is known to the client, also if this process runs none: %p',
    async (workers) => {
      const app = await apps.start({ imports: [memory(workers)], providers: [handlers(STRICT)] });
      await expect(isStrict(app.get(GearMonkeyClient))).resolves.toBe(true);
    },
  );

  it('goes before that of the definition', async () => {
    @Injectable()
    class Faster {
      @Worker(mail, { limit: { concurrency: 3 } })
      send() {}
    }
    const app = await apps.start({ imports: [memory()], providers: [Faster] });
    await expect(isStrict(app.get(GearMonkeyClient), mail)).resolves.toBe(false);
  });

  it('that was added at run time is forgotten when that is stopped', async () => {
    const app = await apps.start({ imports: [memory()] });
    const client = app.get(GearMonkeyClient);
    const added = await app.get(GearMonkeyWorkers).add('mail', () => undefined, { limit: STRICT });
    await expect(isStrict(client)).resolves.toBe(true);
    await added.stop();
    await expect(isStrict(client)).resolves.toBe(false);
  });

  it('still holds after another handler of its function was refused', async () => {
    const app = await apps.start({ imports: [memory()] });
    const workers = app.get(GearMonkeyWorkers);
    await workers.add('mail', () => undefined, { limit: STRICT });
    await expect(workers.add('mail', () => undefined)).rejects.toThrow('has a handler here');
    await expect(isStrict(app.get(GearMonkeyClient))).resolves.toBe(true);
  });
});

describe('job.holdKey in a method', () => {
  it('gives the job back through interceptors and filters, without an attempt', async () => {
    const times: number[] = [];
    @Injectable()
    class Accounts {
      @Worker('sync', { limit: { key: ({ account }: { account: string }) => account, concurrency: 2 } })
      @UseInterceptors(Passing)
      sync(_: { account: string }, job: RunningJob) {
        times.push(Date.now());
        if (times.length === 1) job.holdKey(100);
        return job.attempts;
      }
    }
    const filter = { provide: APP_FILTER, useClass: GearMonkeyExceptionFilter };
    const app = await apps.start({ imports: [memory()], providers: [Accounts, filter] });
    const jobs = app.get(GearMonkeyClient);
    await expect(jobs.call('sync', { account: 'acme' }, { timeout: '10s' })).resolves.toBe(1);
    const [first = 0, second = 0] = times;
    expect(second - first).toBeGreaterThanOrEqual(99);
  });
});

describe('A limit where a system has none', () => {
  it.each<[string, () => JobSource]>([
    ['qless', () => qless({ connection: 'redis://127.0.0.1:1', queues: ['q'] })],
    ['JQ', () => jq({ master: 'http://127.0.0.1:1' })],
    ['jobd', () => jobd({ database: 'sqlite:/nowhere/jobs.db', targets: ['mail'] })],
  ])('keeps the app from starting: %s', async (_, source) => {
    const starting = apps.start({
      imports: [GearMonkeyModule.forRoot({ source: source() })],
      providers: [handlers(STRICT)],
    });
    await expect(starting).rejects.toMatchObject({ code: 'CONFIGURATION' });
    await expect(starting).rejects.toThrow(
      /^"mail" has a `limit`, which is for jobs of GearMonkey and memory, not of /,
    );
  });
});
