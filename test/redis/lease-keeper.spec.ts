import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LeaseKeeper, type LeaseKeeperOptions } from '../../lib/redis/lease-keeper.js';
import { toPlainConnection } from '../../lib/redis/plain-connection.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { scriptOf } from '../../lib/redis/script.js';
import { freePort } from '../support/free-port.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';

const INTERVAL_MS = 20;
const claim = { id: '7', token: 1, fn: 'f', input: Buffer.alloc(0), attempts: 1, stalls: 0, options: {} };

describe('LeaseKeeper', () => {
  const server = useRedis();
  let commands: RedisConnection;
  let problems: string[];
  let renewed: boolean[];
  let keeper: LeaseKeeper | undefined;

  beforeEach(async () => {
    commands = new RedisConnection(server.url, 'commands');
    await commands.ready();
    [problems, renewed] = [[], []];
  });
  afterEach(async () => {
    await keeper?.close();
    commands.close();
  });

  function open(
    connections: Partial<LeaseKeeperOptions['connections']>,
    {
      lost = [],
      interval = INTERVAL_MS,
      patience = 5 * INTERVAL_MS,
    }: { lost?: string[]; interval?: number; patience?: number } = {},
  ): LeaseKeeper {
    return (keeper = new LeaseKeeper({
      connections: { commands, keeper: undefined, ...connections },
      interval,
      patience,
      key: () => 'x',
      renewHere: async (leases) => void renewed.push(leases),
      onLost: (_, members) => void lost.push(...members),
      onProblem: (message) => void problems.push(message),
    }));
  }

  /** A port where nothing listens. */
  const deadEnd = async () => toPlainConnection(`redis://127.0.0.1:${await freePort()}`, 'keeper');

  it('renews from its thread and reports lost leases', async () => {
    const lost: string[] = [];
    const kept = open(toPlainConnection(server.url, 'keeper'), { lost, patience: 60_000 });
    const { sha, text } = scriptOf<[], string[]>('return {ARGV[1]}', () => []);
    kept.setGroups([{ name: 'f', renew: { script: { sha, text }, keys: ['x'], args: [] } }]);
    kept.hold(claim, 'f');
    await until(() => lost.length > 0);
    expect(lost[0]).toBe('7:1');
    expect(kept.keptBy).toBe('thread');
    expect(renewed).toEqual([]);
  });

  it('ends its thread when it is closed', async () => {
    const kept = open(toPlainConnection(server.url, 'keeper'), { patience: 60_000 });
    const thread = kept['thread']?.['thread'];
    expect(thread?.threadId).toBeGreaterThan(0);
    await kept.close();
    expect(thread?.threadId).toBe(-1);
  });

  it('closes at once although its thread is still starting', async () => {
    await commands.ready(5000);
    const connections = async () =>
      /total_connections_received:(\d+)/.exec(await (await commands.ready(5000)).info('stats'))?.[1];
    const before = await connections();
    for (let keepers = 0; keepers < 3; keepers++)
      await open(toPlainConnection(server.url, 'keeper'), { patience: 60_000 }).close();
    expect(await connections()).toBe(before);
  });

  it('renews in the main thread as soon as that reaches Redis again, without a word of a thread that still connects', async () => {
    open(await deadEnd(), { interval: 400, patience: 1 });
    // The connection is never older than the time from one renewal to the next.
    await until(async () => {
      await server.redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await commands.ready(5000);
      return renewed.length > 1;
    });
    expect([renewed.includes(false), problems]).toEqual([false, []]);
  });

  it('leaves leases to the main thread while its own cannot connect, and logs it once', async () => {
    const kept = open(await deadEnd());
    await until(() => renewed.length > 2);
    expect(kept.keptBy).toBe('main thread');
    expect(renewed).not.toContain(false);
    expect(problems).toEqual([expect.stringMatching(/has not reached Redis for \d+ ms/)]);
  });

  it('leaves leases to the main thread after its own has failed', async () => {
    const kept = open(toPlainConnection(server.url, 'keeper'));
    const thread = kept['thread']?.['thread'];
    thread?.emit('error', new Error('out of memory'));
    await thread?.terminate();
    await until(() => renewed.length > 2);
    kept.hold(claim, 'f');
    expect([kept.keptBy, renewed.includes(false)]).toEqual(['main thread', false]);
    expect(problems).toEqual([
      expect.stringContaining('thread failed, so the main thread renews leases: out of memory'),
    ]);
  });

  it('has no thread without a connection; the caller then renews leases', async () => {
    open({ obstacle: 'tls.checkServerIdentity' });
    await until(() => renewed.length > 2);
    expect(renewed).not.toContain(true);
    expect(problems).toEqual([
      expect.stringContaining('`connection.tls.checkServerIdentity` holds a function'),
    ]);
  });

  it('does nothing during an outage', async () => {
    commands.close();
    open(await deadEnd());
    await until(() => (keeper?.['thread']?.age ?? 0) > 10 * INTERVAL_MS);
    expect([renewed, problems]).toEqual([[], []]);
  });
});
