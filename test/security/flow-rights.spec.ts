import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import * as flowScripts from '../../lib/gearmonkey/features/flows/flow-scripts.js';
import { RedisActors } from '../gearmonkey/redis-rig.js';
import { runWorker, stopWorkers, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { useRedisServer } from '../support/use-redis.js';
import { AttributedTrace } from './attributed-trace.js';
import { FN } from './gearmonkey-scenario.js';
import { documentedRights, grant, PASSWORD, superfluous, takeRefusals } from './rights.js';

const LEASE_MS = 20_000;
const documented = documentedRights();
const rightsOf = (name: string) => documented.get(name) ?? [];

/** Of the functions of a flow, but for the hashes of `other`. */
const KEYS = [
  ...['job:mail:*', 'queue:*', 'wake:*', 'count:*', 'control:*', 'limit:*', 'lease:*', 'lock:*', 'uid:*'],
  ...['sender:*', 'functions', 'workers:*', 'ended:*', 'unique:*', 'statistics:*', 'retrying:*', 'tags:*'],
].map((key) => `~${key}`);

describe('the rights that flows need', () => {
  const used = useRedisServer();
  const opened: RedisActors[] = [];
  let trace: AttributedTrace;
  stopWorkersAfterEach();
  beforeAll(async () => {
    trace = await AttributedTrace.start(used.redis);
    for (const user of ['client', 'worker', 'flow-client', 'flow-worker'])
      await grant(used.redis, user, rightsOf(user));
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

  it('name every command of the scripts', () => {
    const { flowJobs, flowEdges, flowBegin, enqueueAfter } = flowScripts;
    const commands = [flowJobs, flowEdges, flowBegin, enqueueAfter].flatMap(({ text }) => [
      ...text.replaceAll(/^local function open_tags[^]*?^end$/gm, '').matchAll(/call\([^,]*?'([A-Z]{3,})'/g),
    ]);
    expect(rightsOf('flow-client')).toEqual(
      expect.arrayContaining(commands.map(([, command = '']) => `+${command.toLowerCase()}`)),
    );
  });

  it('are sufficient, and none of them is too much', async () => {
    const client = as('flow-client').client();
    const source = as('flow-worker').source({ lease: LEASE_MS }, { keeper: true });
    await runWorker(source, FN, (input) => {
      if (input === 'fail') throw new Error('as told');
      return input;
    });
    const last = { job: FN, input: 'last' };
    const children = [
      { job: FN, input: 'a', children: [last] },
      { job: FN, input: 'b', children: [last] },
    ];
    const flow = await client.flow({ job: FN, input: 'first', children });
    await expect(lastValueFrom(flow.progress$)).resolves.toEqual({ done: 4, failed: 0, total: 4 });
    const after = await client.run(FN, 'after', { after: [flow.root] });
    await after.result();
    const failed = await client.flow({ job: FN, input: 'fail', children: [last] });
    await expect(lastValueFrom(failed.progress$)).resolves.toEqual({ done: 0, failed: 2, total: 2 });
    const far = { delay: '1h' };
    const cancelled = await client.flow({ job: FN, input: 'far', options: far, children: [last] });
    await client.run(FN, 'added', { after: [cancelled.root] });
    await expect(cancelled.cancel()).resolves.toBe(3);
    await eventually(async () => expect(await used.redis.exists(`queue:${FN}:flows`)).toBe(0));
    await trace.look();
    const calls = await trace.calls();
    expect(await takeRefusals(used.redis)).toEqual([]);
    for (const user of ['client', 'worker'] as const) {
      const more = rightsOf(`flow-${user}`).filter((right) => !rightsOf(user).includes(right));
      const own = calls.get(`flow-${user}`) ?? [];
      const rights = rightsOf(`flow-${user}`);
      const needless = await superfluous(used.redis, rights, own);
      expect(needless.filter((right) => more.includes(right))).toEqual([]);
    }
  });

  it('that a worker lacks for one function hold up no flow of others', async () => {
    const said: string[] = [];
    const onProblem = (message: string) => said.push(message);
    await runWorker(
      as('flow-worker').source({ lease: LEASE_MS, onProblem }, { keeper: true }),
      FN,
      (input) => input,
    );
    const all = new RedisActors(used.url);
    opened.push(all);
    const client = all.client();
    const stuck = await client.flow({ job: FN, input: 1, children: [{ job: 'other', input: 2 }] });
    await stuck.root.result();
    await eventually(() => expect(said.join()).toMatch(/learn later/));
    const child = { job: FN, input: 4 };
    const good = await client.flow({ job: FN, input: 3, children: [child] });
    await expect(good.jobs[1]?.result()).resolves.toBe(4);
    await stopWorkers();
    await runWorker(all.source(), FN, (input) => input);
    await runWorker(all.source(), 'other', (input) => input);
    await expect(stuck.jobs[1]?.result()).resolves.toBe(2);
  });

  it('are named in an error of a client, and by a worker that lacks them, without a job that is lost', async () => {
    const said: string[] = [];
    const onProblem = (message: string) => said.push(message);
    const source = as('worker').source({ lease: LEASE_MS, onProblem }, { keeper: true });
    await runWorker(source, FN, (input) => input);
    await expect(as('client').client().flow({ job: FN, input: 1 })).rejects.toThrow(
      /no right to what a flow with jobs of "mail" needs: RPUSH/,
    );
    const child = { job: FN, input: 2 };
    const flow = await as('flow-client')
      .client()
      .flow({ job: FN, input: 1, children: [child] });
    await flow.root.result();
    await eventually(() => expect(said.join()).toMatch(/learn later .* no right to .*LRANGE/));
    await stopWorkers();
    await runWorker(as('flow-worker').source({ lease: LEASE_MS }, { keeper: true }), FN, (input) => input);
    await expect(flow.jobs[1]?.result()).resolves.toBe(2);
  });

  it.each(['hset', 'hdel', 'expire', 'zrem', 'lrem'])(
    'that a user has lost cancel nothing of a flow: %s',
    async (command) => {
      await grant(used.redis, 'lacking', ['&*', '~*', '+@all']);
      const children = [{ job: FN, input: 1 }];
      const flow = await as('lacking').client().flow({ job: FN, input: 0, children });
      await used.redis.acl('SETUSER', 'lacking', `-${command}`);
      await expect(flow.cancel()).rejects.toMatchObject({ code: 'REFUSED' });
      const [key = ''] = (await used.redis.keys(`job:${FN}:flow:*`)).filter(
        (found) => !found.endsWith(':jobs'),
      );
      expect(await used.redis.hmget(key, 'total', 'cancelled')).toEqual(['2', null]);
      for (const id of [1, 2]) expect(await used.redis.hget(`job:${FN}:${id}`, 'status')).toBe('idle');
    },
  );

  it('that a user has lost for what follows from ends are no failure of flow.cancel: a worker does it later', async () => {
    await grant(used.redis, 'lacking', ['&*', '~*', '+@all']);
    const children = [{ job: FN, input: 1 }];
    const flow = await as('lacking').client().flow({ job: FN, input: 0, children });
    await used.redis.acl('SETUSER', 'lacking', '-del');
    await expect(flow.cancel()).resolves.toBe(2);
    await runWorker(as('flow-worker').source({ lease: LEASE_MS }, { keeper: true }), FN, (input) => input);
    await eventually(async () => expect(await used.redis.exists(`queue:${FN}:flows`)).toBe(0));
  });

  describe.each([
    ['may not read the jobs that it waits for', [...KEYS, '+@all']],
    ['may only read the jobs that it waits for', ['%R~job:other:*', ...KEYS, '+@all']],
    ...['hincrby', 'hdel', 'persist', 'rpush', 'lpush', 'zrem', 'zadd', 'hset', 'expire', 'llen'].map(
      (command) => [`may do anything but ${command}`, ['~*', '+@all', `-${command}`]] as const,
    ),
  ])('a user who %s', (_, rights) => {
    it('makes no flow behind a job, and none that counts as begun', async () => {
      const all = new RedisActors(used.url);
      opened.push(all);
      const other = await all.client().run('other', 1);
      await grant(used.redis, 'lacking', ['&*', ...rights]);
      const flow = { job: FN, input: 0, options: { after: [other] }, children: [{ job: FN, input: 1 }] };
      await expect(as('lacking').client().flow(flow)).rejects.toMatchObject({ code: 'REFUSED' });
      const flows = (await used.redis.keys(`job:${FN}:flow:*`)).filter((key) => !key.endsWith(':jobs'));
      const totals = await Promise.all(flows.map((key) => used.redis.hget(key, 'total')));
      expect(totals.filter((total) => total !== null)).toEqual([]);
      await expect(used.redis.lrange(`queue:${FN}:normal`, 0, -1)).resolves.toEqual([]);
      await expect(used.redis.hget('job:other:1', 'held')).resolves.toBeNull();
      await expect(used.redis.exists('job:other:1:children')).resolves.toBe(0);
    });

    it.each(['idle', 'success', 'error'])('creates no job behind one that is %s', async (status) => {
      const all = new RedisActors(used.url);
      opened.push(all);
      const other = await all.client().run('other', 1);
      await used.redis.hset('job:other:1', 'status', status);
      await grant(used.redis, 'lacking', ['&*', ...rights]);
      const run = as('lacking')
        .client()
        .run(FN, 1, { after: [other] });
      await expect(run).rejects.toMatchObject({ code: 'REFUSED' });
      await expect(used.redis.keys(`job:${FN}:*`)).resolves.toEqual([]);
      await expect(used.redis.exists(`queue:${FN}:scheduled`, `queue:${FN}:flows`)).resolves.toBe(0);
      await expect(used.redis.hget('job:other:1', 'held')).resolves.toBeNull();
    });
  });
});
