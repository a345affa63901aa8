import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConfigurationError } from '../../lib/job/errors.js';
import { ConnectionError } from '../../lib/job/server-errors.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { isOutage, retryWhileUnreachable } from '../../lib/redis/retry.js';
import { scriptOf } from '../../lib/redis/script.js';
import { useRedis } from '../support/use-redis.js';

function named(name: string, message = 'x'): Error {
  return Object.defineProperty(new Error(message), 'name', { value: name });
}

describe('isOutage', () => {
  const hopeless: [string, unknown][] = [
    ['a TypeError', new TypeError('x')],
    ['a SyntaxError', new SyntaxError('x')],
    ['a RangeError', new RangeError('x')],
    ['a ReferenceError', new ReferenceError('x')],
    ['an error of ours', new ConfigurationError('x')],
    ['a connection that was closed by us', new ConnectionError('x', 'y')],
    ['a refusal', named('ReplyError', 'NOPERM x')],
    ['a reply about the wrong type', named('ReplyError', 'WRONGTYPE x')],
    ['what is no error', 'Connection is closed.'],
    ['nothing', undefined],
  ];
  it.each(hopeless)('is not %s', (_, error) => {
    expect(isOutage(error)).toBe(false);
  });

  const passing: [string, unknown][] = [
    ['a connection that broke', new Error('Connection is closed.')],
    ['an address that refuses', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })],
    ['commands that ioredis gave up', named('MaxRetriesPerRequestError')],
    ['commands that ioredis cut off', named('AbortError')],
    ['a cluster of which nothing is known', named('ClusterAllFailedError')],
    ['a server that loads', named('ReplyError', 'LOADING x')],
    ['a server that is a replica by now', named('ReplyError', 'READONLY x')],
    ['a server that is busy with a script', named('ReplyError', 'BUSY x')],
  ];
  it.each(passing)('is %s', (_, error) => {
    expect(isOutage(error)).toBe(true);
  });
});

describe('retryWhileUnreachable', () => {
  const broken = new Error('Connection is closed.');

  it('calls until there is a reply', async () => {
    let asked = 0;
    const answer = retryWhileUnreachable(() =>
      ++asked < 3 ? Promise.reject(broken) : Promise.resolve('answer'),
    );
    await expect(answer).resolves.toBe('answer');
    expect(asked).toBe(3);
  });

  it('gives up at its deadline with the last error as the cause, and passes the time that is left', async () => {
    const left: number[] = [];
    const answer = retryWhileUnreachable(
      (ms) => {
        left.push(ms);
        return Promise.reject(broken);
      },
      { timeout: 30 },
    );
    await expect(answer).rejects.toThrow(ConnectionError);
    await expect(answer).rejects.toThrow('Connection is closed.');
    expect(left[0]).toBeLessThanOrEqual(30);
    expect(left.at(-1)).toBeGreaterThanOrEqual(1);
  });

  it('gives up when its signal aborts', async () => {
    const abort = new AbortController();
    const answer = retryWhileUnreachable(
      () => {
        abort.abort();
        return Promise.reject(broken);
      },
      { signal: abort.signal },
    );
    await expect(answer).rejects.toThrow(ConnectionError);
  });

  it('retries the errors that its caller chooses', async () => {
    let asked = 0;
    const full = named('ReplyError', 'OOM x');
    const question = () => (++asked < 2 ? Promise.reject(full) : Promise.resolve('answer'));
    await expect(retryWhileUnreachable(question, { mayPass: () => true })).resolves.toBe('answer');
    asked = 0;
    await expect(retryWhileUnreachable(question)).rejects.toBe(full);
  });
});

describe('RedisConnection.insist', () => {
  const server = useRedis();
  let connection: RedisConnection;
  beforeEach(() => {
    connection = new RedisConnection(server.url, 'commands');
  });
  afterEach(() => connection.close());

  it('asks again when the connection breaks', async () => {
    let asked = 0;
    const answer = await connection.insist(async (client) => {
      if (++asked === 1) await server.redis.client('KILL', 'ID', await client.client('ID'));
      return client.ping();
    });
    expect([answer, asked]).toEqual(['PONG', 2]);
  });

  it('throws at once if an argument cannot be sent', async () => {
    const script = scriptOf<[never], number>('return 1', Number);
    const call = connection.insist((client) => script.run(client, [], null as never));
    await expect(call).rejects.toThrow(TypeError);
  });

  it('throws at once if a reply cannot be decoded', async () => {
    const script = scriptOf<[], unknown>("return '{'", (reply) => JSON.parse(String(reply)));
    await expect(connection.insist((client) => script.run(client, []))).rejects.toThrow(SyntaxError);
  });
});
