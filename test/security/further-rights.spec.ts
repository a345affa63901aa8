import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { ConnectionSpec } from '../../lib/redis/connect.js';
import { SlotTable } from '../../lib/worker/function-slots.js';
import { RedisActors } from '../gearmonkey/redis-rig.js';
import { CommandTrace } from '../support/command-trace.js';
import { runWorker, stopWorkers, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';
import { useRedisServer } from '../support/use-redis.js';
import { handle } from './gearmonkey-scenario.js';
import { documentedRights, grant, PASSWORD, superfluous, takeRefusals, type Rights } from './rights.js';

const LEASE_MS = 20_000;
const MANY = 51;
const CLUSTER = ['+cluster|slots', '+cluster|info'];
const documented = documentedRights();

/** The documented rights of a user, for other functions than `mail`. */
function rightsFor(user: string, functions: readonly string[]): Rights {
  const rights = documented.get(user) ?? [];
  return [...new Set(functions.flatMap((fn) => rights.map((right) => right.replaceAll('mail', fn))))];
}

describe('rights beyond the lists of docs/operate/security.md', () => {
  const used = useRedisServer();
  const opened: RedisActors[] = [];
  stopWorkersAfterEach();
  afterEach(() => {
    for (const actors of opened.splice(0)) actors.close();
  });

  const url = (user: string, database = '') =>
    `redis://${user}:${PASSWORD}@127.0.0.1:${used.port}${database}`;
  const actors = (spec: ConnectionSpec, hashTag = false) => {
    const made = new RedisActors(spec, hashTag);
    opened.push(made);
    return made;
  };

  it('are sufficient for a plain client', async () => {
    await grant(used.redis, 'plain', documented.get('plain') ?? []);
    await runWorker(actors(used.url).source(), 'mail', handle);
    const calls = [
      ['incr', 'uid:mail'],
      ['hset', 'job:mail:1', 'status', 'idle', 'input', '"ok"'],
      ['publish', 'channel:mail', 'create:1'],
      ['lpush', 'queue:mail:normal', '1'],
      ['brpop', 'lock:mail:1', '20'],
      ['lpush', 'queue:mail:signals', '1:approved:true'],
      ['hget', 'job:mail:1', 'output'],
    ] as const;
    const redis = new Redis(url('plain'), { enableReadyCheck: false, disableClientInfo: true });
    let reply: unknown;
    for (const [command, ...args] of calls) reply = await redis.call(command, ...args);
    redis.disconnect();
    expect(reply).toBe('"ok"');
    expect(await takeRefusals(used.redis)).toEqual([]);
    const traced = calls.map(([command, ...args]) => ({ name: command, command, args, source: '' }));
    expect(await superfluous(used.redis, documented.get('plain') ?? [], traced)).toEqual([]);
  });

  it('include LPOP for a worker of very many functions', async () => {
    const functions = Array.from({ length: MANY }, (_, index) => `f${index}`);
    await grant(used.redis, 'many', [...rightsFor('worker', functions), '+lpop']);
    const source = actors(url('many')).source();
    await source.open(functions);
    const end = new AbortController();
    const slots = new SlotTable(functions.map((fn) => [fn, 1]));
    const client = actors(used.url).client();
    const trace = await CommandTrace.start(used.redis);
    const claimed = source.claim(slots, end.signal);
    await until(async () => (await trace.take()).some(({ command }) => command === 'lpop'));
    await client.run('f7', 'ok');
    const claims = await claimed;
    await source.settle(claims.map((claim) => ({ claim, status: 'success', output: '"ok"' })));
    await source.close();
    trace.stop();
    expect(await takeRefusals(used.redis)).toEqual([]);
  });
});

describe('rights on a cluster', () => {
  const used = useRedisServer(['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1']);
  stopWorkersAfterEach();

  it('are those of the lists with braces, and those that find its nodes', async () => {
    await used.redis.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
    await eventually(async () =>
      expect(String(await used.redis.cluster('INFO'))).toContain('cluster_state:ok'),
    );
    for (const user of ['client', 'worker']) {
      const rights = rightsFor(user, ['{mail}']).filter((right) => !right.startsWith('~wake:?'));
      const own = user === 'worker' ? ['~wake:{mail}:*'] : [];
      await grant(used.redis, user, [...rights, ...own, ...CLUSTER]);
    }
    const nodes = [{ host: '127.0.0.1', port: used.port }];
    const spec = (username: string) => ({ nodes, redisOptions: { username, password: PASSWORD } });
    const [clients, workers] = [new RedisActors(spec('client'), true), new RedisActors(spec('worker'), true)];
    const source = workers.source({ lease: LEASE_MS }, { keeper: true });
    await runWorker(source, 'mail', handle);
    await expect(clients.client().call('mail', 'ok')).resolves.toBe('ok');
    await stopWorkers();
    clients.close();
    workers.close();
    expect(await takeRefusals(used.redis)).toEqual([]);
  });
});
