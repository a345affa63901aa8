import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import * as limitScripts from '../../lib/gearmonkey/features/limits/limit-scripts.js';
import * as scripts from '../../lib/gearmonkey/core/wire/scripts.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { defineLimit } from '../../lib/job/check-limit.js';
import type { LimitOptions } from '../../lib/job/limit.js';
import { RedisActors, submit } from '../gearmonkey/redis-rig.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { AttributedTrace } from './attributed-trace.js';
import { until } from '../support/until.js';
import { useRedisServer } from '../support/use-redis.js';
import { FN, handle } from './gearmonkey-scenario.js';
import { documentedRights, grant, PASSWORD, superfluous, takeRefusals } from './rights.js';

const LEASE_MS = 2000;
const documented = documentedRights();
const rightsOf = (name: string) => documented.get(name) ?? [];
const limited = (limit: LimitOptions<string>) => defineJob<string>(FN, { limit });

describe('the rights that limits need', () => {
  const used = useRedisServer();
  const opened: RedisActors[] = [];
  let trace: AttributedTrace;
  let taken: ReturnType<AttributedTrace['calls']> | undefined;
  stopWorkersAfterEach();
  beforeAll(async () => {
    trace = await AttributedTrace.start(used.redis);
    for (const user of ['client', 'worker']) {
      await grant(used.redis, user, rightsOf(user));
      await grant(used.redis, `limited-${user}`, [...rightsOf(`limited-${user}`), '~shared-limit:smtp:*']);
    }
  });
  afterAll(() => trace.stop());
  afterEach(async () => {
    for (const actors of opened.splice(0)) actors.close();
    await used.redis.flushall();
    await used.redis.acl('LOG', 'RESET');
  });
  const as = (user: string) => {
    const actors = new RedisActors(`redis://${user}:${PASSWORD}@127.0.0.1:${used.port}`);
    opened.push(actors);
    return actors;
  };

  it.each([
    [
      'client',
      [limitScripts.enqueueLimited, limitScripts.setLimit, limitScripts.readLimits],
      // Only workers give jobs back to the front of a list, and line up for a turn.
      ['+rpush', '+rpop', '+pexpire'],
    ],
    ['worker', [scripts.claim, scripts.look, limitScripts.setLimit], []],
  ])('of a %s name every command of the scripts', (user, own, unneeded) => {
    const commands = own.flatMap(({ text }) => [
      ...text
        .replaceAll(/^local function (?:open_tags|note_end)[^]*?^end$/gm, '')
        .matchAll(/call\([^,]*?'([A-Z]{3,})'/g),
    ]);
    const rights = [...rightsOf(`limited-${user}`), ...unneeded];
    expect(rights).toEqual(
      expect.arrayContaining(commands.map(([, command = '']) => `+${command.toLowerCase()}`)),
    );
  });

  it.each<[string, LimitOptions<string>]>([
    ['concurrency and rate', { key: (input) => input, concurrency: 1, rate: { max: 100, per: 60_000 } }],
    ['strict order', { key: (input) => input, order: 'strict' }],
    ['refusing', { key: (input) => input, concurrency: 1, onFull: 'refuse' }],
    ['a shared limit', { key: (input) => input, shared: defineLimit('smtp', { concurrency: 1 }) }],
    ['replacing', { key: (input) => input, concurrency: 1, onFull: 'replace', replace: 'running' }],
  ])('are sufficient for %s', async (_, limit) => {
    const job = limited(limit);
    const client = as('limited-client').client();
    const source = as('limited-worker').source({ lease: LEASE_MS }, { keeper: true });
    const { said } = await runWorker(source, job, handle, { concurrency: 2 });
    await expect(client.call(job, 'ok')).resolves.toBe('ok');
    await client.call(job, 'retry', { retry: { attempts: 2, delay: 1 } });
    const held = await client.run(job, 'hold');
    await until(async () => (await held.get()).state === 'running');
    const refuses = limit.onFull === 'refuse';
    const next = await client.run(job, refuses ? 'ok' : 'hold');
    if (refuses) await expect(client.run(job, 'hold')).rejects.toMatchObject({ code: 'LIMIT_FULL' });
    const later = await client.run(job, 'later', { delay: '1 day' });
    const { shared } = limit;
    const parked = `${shared ? 'shared-limit:smtp' : `limit:${FN}`}:parked`;
    if (!refuses && limit.onFull !== 'replace') {
      // With keys that are set aside, a worker starts whose numbers are others.
      await until(async () => (await used.redis.exists(parked)) === 1);
      const numbers = { rate: { max: 200, per: 60_000 } };
      const other = shared ? { shared: defineLimit('smtp', { concurrency: 1, ...numbers }) } : numbers;
      await runWorker(as('limited-worker').source(), limited({ ...limit, ...other }), handle);
    }
    if (limit.order === 'strict') {
      // As if another job of the key held it, which stands further back: it is put to the front.
      const last = await client.run(job, 'hold');
      await used.redis.hset(`limit:${FN}:holders`, 'hold', last.id);
      await until(async () => (await last.get()).state === 'running');
      await last.cancel();
    }
    await client.limits(job);
    await client.setLimit(job, { concurrency: 1 });
    await client.resetLimit(job);
    await later.update({ delay: '2 days' });
    await used.redis.hset(`job:${FN}:${next.id}`, 'waits', 'go');
    await next.signal('go', 1);
    for (const each of [later, held, next]) await each.cancel();
    const filed = await submit(used.redis, FN, Buffer.from('"filed"'));
    await until(async () => (await used.redis.hget(`job:${FN}:${filed}`, 'key')) === 'filed');
    if (!refuses) await client.runMany(job, ['ok', 'ok', 'ok']);
    // As if its lease had been deleted by hand.
    const places = `limit:${FN}:places`;
    await used.redis.hset(places, '999:1', 'lost');
    let calls = 0;
    await until(async () => {
      await client.call(job, `ok ${(calls += 1)}`);
      return (await used.redis.hexists(places, '999:1')) === 0;
    });
    await trace.look();
    expect(said.filter((line) => !line.startsWith(`${FN} `))).toEqual([]);
    expect(await takeRefusals(used.redis)).toEqual([]);
  });

  it.each(['client', 'worker'])('contain only what a %s needs', async (user) => {
    taken ??= trace.calls();
    const calls = (await taken).get(`limited-${user}`) ?? [];
    const unneeded = await superfluous(used.redis, rightsOf(`limited-${user}`), calls);
    expect(unneeded.filter((right) => !rightsOf(user).includes(right))).toEqual([]);
  });

  it('are not needed for a function without a limit', async () => {
    const client = as('client').client();
    await runWorker(as('worker').source(), FN, handle);
    await expect(client.call(FN, 'ok')).resolves.toBe('ok');
    const later = await client.run(FN, 'ok', { delay: '1 day' });
    await later.update({ delay: '2 days' });
    await later.cancel();
    expect(await takeRefusals(used.redis)).toEqual([]);
  });

  it('are named to a client without them, which writes nothing', async () => {
    const client = as('client').client();
    const job = limited({ concurrency: 1 });
    const message = /a client of "mail", which has a limit, needs: .*control:mail/;
    await expect(client.run(job, 'ok')).rejects.toThrow(message);
    await expect(client.limits(job)).rejects.toThrow(message);
    await expect(client.setLimit(job, { concurrency: 2 })).rejects.toThrow(message);
    expect(await used.redis.keys('*')).toEqual([]);
  });

  it('are named at the start of a worker without them, before it writes', async () => {
    const started = runWorker(as('worker').source(), limited({ concurrency: 1 }), handle);
    await expect(started).rejects.toThrow(/a worker of "mail" needs: .*limit:mail:x/);
    expect(await used.redis.keys('*')).toEqual([]);
  });
});
