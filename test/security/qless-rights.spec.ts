import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { firstValueFrom } from 'rxjs';
import {
  GearMonkeyModule,
  GearMonkeyWorkers,
  RefusedError,
  Worker,
  type RunningJob,
} from 'nestjs-gearmonkey';
import { QlessClient, QlessModule, qless } from 'nestjs-gearmonkey/qless';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedisServer } from '../support/use-redis.js';
import { documentedRights, grant, nameOf, needed, PASSWORD, takeRefusals } from './rights.js';

const rights = documentedRights().get('qless') ?? [];
const SCRIPTS = fileURLToPath(new URL('../../lib/qless/wire/scripts/', import.meta.url));
/** Beside the scripts: connecting, listening, and a worker's wait. */
const CONNECTION = ['client|setname', 'info', 'ping', 'subscribe', 'unsubscribe', 'eval', 'evalsha', 'blpop'];
/** What only clients and overviews do. */
const NO_WORKERS = ['+llen', '+set'];

class Mails {
  @Worker('SendMail', { retry: { attempts: 2, delay: 1, backoff: 'fixed' } })
  async send(input: { to: string }, job: RunningJob): Promise<string> {
    await job.update(1, 2);
    if (input.to === 'nobody') throw new TypeError('Nobody to write to');
    return input.to;
  }
}

describe('the rights of qless in docs/operate/security.md', () => {
  const used = useRedisServer();
  const apps = useApps();
  beforeAll(() => grant(used.redis, 'qless', rights));

  it('are sufficient for an app that puts and runs jobs', async () => {
    const connection = `redis://qless:${PASSWORD}@127.0.0.1:${used.port}`;
    const app = await apps.start({
      imports: [
        GearMonkeyModule.forRoot({ source: qless({ connection, queues: ['mail'] }) }),
        QlessModule.forRoot({ connection }),
      ],
      providers: [Mails],
    });
    const client = app.get(QlessClient);
    const mail = client.queue('mail');
    await mail.put('SendMail', { to: 'ada' });
    const failing = await mail.put('SendMail', { to: 'nobody' });
    await eventually(async () => expect(await client.jobs.complete()).toHaveLength(1));
    await eventually(async () => expect((await client.jobs.get(failing))?.record.state).toBe('failed'));
    await app.close();
    expect(await takeRefusals(used.redis)).toEqual([]);
  });

  it('are the commands of its scripts, and those of its connections', () => {
    const files = readdirSync(SCRIPTS, { recursive: true, encoding: 'utf8' });
    const texts = files
      .filter((file) => file.endsWith('.lua'))
      .map((file) => readFileSync(join(SCRIPTS, file), 'utf8'));
    const commands = texts
      .flatMap((text) => [...text.matchAll(/\bp?call\('([A-Z]+)'/g)])
      .map(([, name = '']) => name.toLowerCase());
    const all = new Set([...commands, ...CONNECTION].map((command) => `+${command}`));
    expect(rights.toSorted()).toEqual([...all, '~ql:*', '&ql:*'].toSorted());
  });
});

describe('without one of these rights', () => {
  const used = useRedisServer();
  const apps = useApps();
  beforeEach(async () => {
    await used.redis.flushall();
    // A script that is known needs no EVAL.
    await used.redis.script('FLUSH');
  });

  const connectionWithout = async (right: string) => {
    await grant(
      used.redis,
      'lacking',
      rights.filter((other) => other !== right),
    );
    return `redis://lacking:${PASSWORD}@127.0.0.1:${used.port}`;
  };

  it.each(needed(rights).filter((right) => !NO_WORKERS.includes(right)))(
    'a worker does not start, with an error that names it: %s',
    async (right) => {
      const source = qless({ connection: await connectionWithout(right), queues: ['mail'] });
      const started = apps.start({ imports: [GearMonkeyModule.forRoot({ source })], providers: [Mails] });
      await expect(started).rejects.toThrow(nameOf(right));
      expect(await used.redis.keys('*')).toEqual([]);
    },
  );

  it('a worker of an app that runs starts once it is granted', async () => {
    const source = qless({ connection: await connectionWithout('+zadd'), queues: ['mail'] });
    const app = await apps.start({ imports: [GearMonkeyModule.forRoot({ source })] });
    const add = () => app.get(GearMonkeyWorkers).add('SendMail', () => 'sent');
    await expect(add()).rejects.toThrow('ZADD ql:x');
    await grant(used.redis, 'lacking', rights);
    await expect(add()).resolves.toBeDefined();
  });

  it.each(['+evalsha', '+zadd', '+hset', '+hmget', '~ql:*'])(
    'a client rejects with an error that names it: %s',
    async (right) => {
      const client = new QlessClient({ connection: await connectionWithout(right) });
      const put = client.queue('mail').put('SendMail', {});
      const refusal = await put.catch((error: unknown) => error).finally(() => client.close());
      expect(refusal).toBeInstanceOf(RefusedError);
      expect(refusal).toMatchObject({ message: expect.stringMatching(nameOf(right)) });
    },
  );

  it('a client that listens to events rejects', async () => {
    const client = new QlessClient({ connection: await connectionWithout('&ql:*') });
    const event = firstValueFrom(client.events.log());
    await expect(event.finally(() => client.close())).rejects.toThrow(RefusedError);
  });
});
