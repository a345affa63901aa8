import { beforeEach, describe, expect, it } from '@jest/globals';
import { GearMonkeyClient, GearMonkeyModule, Worker } from 'nestjs-gearmonkey';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedisServer } from '../support/use-redis.js';
import { documentedRights, grant, nameOf, needed, PASSWORD } from './rights.js';

const documented = documentedRights();
const rightsOf = (user: string) => documented.get(user) ?? [];
/** Of a client: what it can do little without. */
const ALWAYS = [
  ...['+evalsha', '+get', '+set', '+incrby', '+hset', '+hmget', '+hgetall', '+lpush', '+zadd', '+publish'],
  ...[
    '~uid:mail',
    '~sender:mail:*',
    '~count:mail',
    '~job:mail:*',
    '~queue:mail:*',
    '~wake:mail',
    '~channel:mail',
  ],
  ...['~lease:mail', '~lock:mail:*', '~cancel:mail', '&channel:mail'],
];

class Mailer {
  @Worker('mail')
  mail(input: string): string {
    return input;
  }
}

describe('a Redis user that lacks a right', () => {
  const used = useRedisServer();
  const apps = useApps();
  beforeEach(async () => {
    await used.redis.flushall();
    // A script that is known needs no EVAL.
    await used.redis.script('FLUSH');
  });

  const urlOf = async (rights: readonly string[]) => {
    await grant(used.redis, 'lacking', rights);
    return `redis://lacking:${PASSWORD}@127.0.0.1:${used.port}`;
  };
  const without = (user: string, right: string) => rightsOf(user).filter((other) => other !== right);
  const start = async (rights: readonly string[], providers: (typeof Mailer)[] = []) =>
    apps.start({
      imports: [GearMonkeyModule.forRoot({ connection: await urlOf(rights), enqueueTimeout: '2s' })],
      providers,
    });

  it('has exactly one right less than in docs/operate/security.md', async () => {
    await expect(start(rightsOf('worker'), [Mailer])).resolves.toBeDefined();
  });

  it.each(needed(rightsOf('worker')))(
    'prevents the start of a worker, with an error that names it: %s',
    async (right) => {
      await expect(start(without('worker', right), [Mailer])).rejects.toThrow(nameOf(right));
      expect(await used.redis.keys('*')).toEqual([]);
    },
  );

  it('is reported with its owner and what to do', async () => {
    await expect(start(without('worker', '&channel:mail'), [Mailer])).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message:
        'The Redis user has no right to what a worker of "mail" needs: PUBLISH channel:mail, SUBSCRIBE channel:mail. ' +
        'Grant it: docs/operate/security.md has the list.',
    });
  });

  it('is reported with its key', async () => {
    await expect(start(without('worker', '+zadd'), [Mailer])).rejects.toThrow(
      'needs: ZADD queue:mail:scheduled',
    );
    const client = (await start(without('client', '+zadd'))).get(GearMonkeyClient);
    await expect(client.run('mail', 1, { scheduled: new Date(1e12) })).rejects.toThrow(
      'ZADD queue:mail:scheduled',
    );
  });

  it.each(['+eval', '+evalsha'])(
    'is reported even if it is the right to check, or not needed yet: %s',
    async (right) => {
      const knowing = await start(rightsOf('worker'), [Mailer]);
      await knowing.close();
      await expect(start(without('worker', right), [Mailer])).rejects.toMatchObject({
        code: 'CONFIGURATION',
        message: expect.stringMatching(new RegExp(`a worker of "mail" needs: ${right.slice(1)}\\b`, 'i')),
      });
    },
  );

  it.each(ALWAYS)('is named in the error of a refused client: %s', async (right) => {
    const app = await start(without('client', right));
    const client = app.get(GearMonkeyClient);
    const outcomes = await Promise.allSettled([
      client.runMany('mail', [1, 2]),
      client.run('mail', 1, { scheduled: new Date(1e12) }),
      client.get('mail', 1),
      client.rollCall('mail'),
      client.cancel('mail', 1),
    ]);
    const messages = outcomes.map((outcome) => outcome.status === 'rejected' && String(outcome.reason));
    expect(messages).toContainEqual(expect.stringMatching(nameOf(right)));
  });

  it('is reported by a client that has written nothing', async () => {
    const app = await start(without('client', '&channel:mail'));
    const client = app.get(GearMonkeyClient);
    await expect(client.runMany('mail', [1, 2])).rejects.toMatchObject({
      code: 'REFUSED',
      message: expect.stringContaining('PUBLISH channel:mail'),
    });
    expect(await used.redis.keys('job:*')).toEqual([]);
  });

  it.each(['+subscribe', '&progress:mail', '&reply:mail:*'])(
    'is named in the error of a client that cannot subscribe: %s',
    async (right) => {
      const app = await start(without('client', right));
      await expect(app.get(GearMonkeyClient).call('mail', 'ok')).rejects.toMatchObject({
        code: 'REFUSED',
        message: expect.stringMatching(nameOf(right)),
      });
    },
  );

  it('leaves no subscription of a client that may subscribe to only one of its channels', async () => {
    const app = await start(without('client', '&reply:mail:*'));
    const client = app.get(GearMonkeyClient);
    await expect(client.call('mail', 'ok')).rejects.toMatchObject({ code: 'REFUSED' });
    await eventually(async () => expect(await used.redis.pubsub('CHANNELS', '*:mail')).toHaveLength(0));
  });
});
