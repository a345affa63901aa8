import { afterEach, describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import type { FlowNode } from '../../../lib/gearmonkey/features/flows/flow-node.js';
import {
  flowAbandon,
  flowBegin,
  flowEdges,
  flowJobs,
} from '../../../lib/gearmonkey/features/flows/flow-scripts.js';
import { flowKey, keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { defineJob } from '../../../lib/job/job-definition.js';
import { PythonActor, stopActors } from '../../conformance/python-actor.js';
import { gate } from '../../support/gate.js';
import { LossyProxy } from '../../support/lossy-proxy.js';
import { runWorker } from '../../support/run-worker.js';
import { eventually, until } from '../../support/until.js';
import { openConnections } from '../../../lib/gearmonkey/redis-connections.js';
import { GearMonkeyClient } from '../../../lib/gearmonkey/client.js';
import { RedisStore } from '../../../lib/gearmonkey/redis-store.js';
import { trim } from '../../../lib/gearmonkey/features/views/view-scripts.js';
import { RedisActors } from '../redis-rig.js';
import { useGearMonkey } from '../use-gearmonkey.js';

describe('Flows on Redis', () => {
  const rig = useGearMonkey();
  afterEach(stopActors);

  const node = (fn: string, input: string, ...children: FlowNode[]): FlowNode => ({
    job: fn,
    input,
    children,
  });

  /** All keys of a function that never expire, but for those that every function has. */
  async function leftOf(fn: string): Promise<string[]> {
    const keys = await rig.redis.keys(`*:${fn}:*`);
    const times = await Promise.all(keys.map((key) => rig.redis.ttl(key)));
    return keys.filter((key, index) => times[index] === -1 && !/^(ended|claims|sender):/.test(key)).sort();
  }

  it('are made by calls that are remembered for longer than it is repeated', async () => {
    const fn = rig.fn();
    const seconds = 200;
    const client = new RedisActors(rig.url).client({}, seconds * 1000);
    const first = await client.run(fn, 1);
    const [before] = [new Set(await rig.redis.keys(`sender:${fn}:*`))];
    await client.run(fn, 2, { after: [first] });
    const added = (await rig.redis.keys(`sender:${fn}:*`)).filter((key) => !before.has(key));
    expect(added).toHaveLength(1);
    expect(await rig.redis.ttl(String(added[0]))).toBeGreaterThan(2 * seconds);
    await client.close();
  });

  it('leave nothing that does not expire', async () => {
    const fn = rig.fn();
    await runWorker(rig.source(), fn, (input) => {
      if (input === 'fail') throw new Error('as told');
    });
    const last = node(fn, 'last');
    const flow = await rig.client.flow(node(fn, 'first', node(fn, 'a', last), node(fn, 'fail', last)));
    await lastValueFrom(flow.progress$);
    await rig.client.run(fn, 'after', { after: [flow.root], blocking: true });
    await eventually(async () => expect(await leftOf(fn)).toEqual([]));
  });

  it('keep the output of a job until those that waited for it have ended', async () => {
    const fn = rig.fn();
    const go = gate();
    const definition = defineJob(fn, { keep: { success: { age: '1m' } } });
    await runWorker(rig.source(), definition, async (input, job) => {
      if (input === 'child') await go.passed;
      return (await job.parents()).length;
    });
    const child: FlowNode = { job: definition, input: 'child' };
    const flow = await rig.client.flow({ job: definition, input: 'parent', children: [child] });
    await flow.root.result();
    const { jobs } = keysOf(fn);
    await eventually(async () => expect(await rig.redis.ttl(jobs + flow.root.id)).toBe(-1));
    await expect(rig.client.discard(fn, flow.root.id).done).resolves.toBe(0);
    go.open();
    await expect(flow.jobOf(child)?.result()).resolves.toBe(1);
    await eventually(async () => expect(await rig.redis.ttl(jobs + flow.root.id)).toBeGreaterThan(0));
    expect(await rig.redis.ttl(jobs + flow.root.id)).toBeLessThanOrEqual(60);
  });

  it('go on behind jobs that a plain worker has run', async () => {
    const [plain, fn] = [rig.fn(), rig.fn()];
    const actor = new PythonActor('worker', [rig.url, plain]);
    await expect(actor.line()).resolves.toEqual({ ready: true });
    // No worker of ours knows that function: one that waits for its jobs looks for their ends.
    await runWorker(rig.source(), fn, async (_, job) => (await job.parents()).map(({ output }) => output));
    const child = node(fn, 'child');
    const flow = await rig.client.flow(node(plain, 'word', child));
    await expect(flow.root.result()).resolves.toBe('WORD');
    await expect(flow.jobOf(child)?.result()).resolves.toEqual(['WORD']);
    const members = [keysOf(plain).members, keysOf(fn).members];
    await eventually(async () => expect(await rig.redis.exists(...members)).toBe(0));
  });

  /** Ends a job as a plain worker does. */
  async function endPlainly(fn: string, status: 'success' | 'error'): Promise<string> {
    const k = keysOf(fn);
    const id = await until(() => rig.redis.rpop(k.normal));
    await rig.redis.hset(k.jobs + id, { status, output: '1', finished: Date.now() });
    await rig.redis.expire(k.jobs + id, 90_000);
    return id;
  }

  /** Resolves once no worker looks at jobs of flows of these functions any more. */
  const areForgotten = (...functions: string[]) =>
    eventually(async () =>
      expect(await rig.redis.exists(...functions.map((fn) => keysOf(fn).members))).toBe(0),
    );

  it('count a job of a plain worker again that failed and was retried, and leave nothing behind', async () => {
    const [fn, plain] = [rig.fn(), rig.fn()];
    await runWorker(rig.source(), fn, () => 1);
    const flow = await rig.client.flow(node(fn, 'root', node(plain, 'child')));
    const id = await endPlainly(plain, 'error');
    await expect(lastValueFrom(flow.progress$)).resolves.toMatchObject({ done: 1, failed: 1 });
    await areForgotten(fn, plain);
    await expect(rig.client.retry(plain, id).done).resolves.toBe(1);
    await endPlainly(plain, 'success');
    await expect(lastValueFrom(flow.progress$)).resolves.toMatchObject({ done: 2, failed: 0 });
    await eventually(async () => expect([await leftOf(fn), await leftOf(plain)]).toEqual([[], []]));
  });

  it('leave nothing behind of a job without a worker that was retried and drained', async () => {
    const [fn, idle] = [rig.fn(), rig.fn()];
    await runWorker(rig.source(), fn, () => 1);
    const first = await rig.client.run(idle, 1);
    const child = await rig.client.run(fn, 2, { after: [first] });
    await first.cancel();
    await expect(child.result()).rejects.toMatchObject({ code: 'JOB_FAILED' });
    await areForgotten(fn, idle);
    await rig.client.retry(idle, first.id).done;
    await expect(rig.client.drain(idle)).resolves.toBe(1);
    await eventually(async () => expect(await leftOf(idle)).toEqual([]));
  });

  it('keep what a function without a leader for a moment had to look at', async () => {
    const [root, plain, other] = [rig.fn(), rig.fn(), rig.fn()];
    const flow = await rig.client.flow(node(root, 'root', node(plain, 'child')));
    const source = rig.source();
    const { worker } = await runWorker(source, root, () => 1);
    await until(async () => (await rig.redis.llen(keysOf(plain).normal)) === 1);
    await worker.stop(0);
    await rig.redis.del(`leader:${root}`);
    // Its names are all that is left of the root's function.
    const cancelled = await rig.client.run(root, 1);
    await runWorker(rig.source(), other, () => 1);
    const last = await rig.client.run(other, 2, { after: [cancelled] });
    await cancelled.cancel();
    await expect(last.result()).rejects.toMatchObject({ code: 'JOB_FAILED' });
    await eventually(async () => expect(await rig.redis.exists(keysOf(root).members)).toBe(0));
    await endPlainly(plain, 'success');
    await expect(lastValueFrom(flow.progress$)).resolves.toMatchObject({ done: 2, failed: 0 });
  });

  it('whose client died before they began are removed by workers, and never run', async () => {
    const fn = rig.fn();
    const ran: unknown[] = [];
    const k = keysOf(fn);
    const flow = flowKey(k.jobs, 'dead');
    const keys = [flow, k.ids, k.jobs, k.scheduled, k.members];
    const job = (waits: string, children: string) => ['"x"', '', 'normal::', 'fail', waits, children];
    const last = await flowJobs.run(rig.redis, keys, 1, 60, 1, 5_000_000, `dead:${fn}`, [
      ...job('1', '1'),
      ...job('1', '0'),
    ]);
    await flowEdges.run(rig.redis, [flow, `${flow}:jobs`], 2, 60, [
      `${k.jobs}1:children`,
      1,
      `2:6000000:${fn}`,
    ]);
    await runWorker(rig.source(), fn, (input) => void ran.push(input));
    await rig.client.run(fn, 'other', { blocking: true });
    expect([last, await rig.redis.zcard(k.scheduled)]).toEqual([2, 2]);
    await rig.redis.del(flow);
    await eventually(async () => expect(await rig.redis.exists(k.members, k.scheduled)).toBe(0));
    expect(await rig.redis.exists(`${k.jobs}1`, `${k.jobs}2`, `${k.jobs}1:children`)).toBe(0);
    expect(ran).toEqual(['other']);
  });

  it('are refused if a part is lost, and written once if one is sent twice', async () => {
    const fn = rig.fn();
    const k = keysOf(fn);
    const flow = flowKey(k.jobs, 'parts');
    const keys = [flow, k.ids, k.jobs, k.scheduled, k.members];
    const first = () =>
      flowJobs.run(rig.redis, keys, 1, 60, 1, 5_000_000, `parts:${fn}`, [
        '"x"',
        '',
        'normal::',
        'fail',
        '1',
        '0',
      ]);
    await expect(Promise.all([first(), first()])).resolves.toEqual([1, 1]);
    const lists = [`${flow}:jobs`, 1, `1:5000000:${fn}`];
    const second = () => flowEdges.run(rig.redis, [flow, `${flow}:jobs`], 2, 60, lists);
    await Promise.all([second(), second()]);
    expect(await rig.redis.llen(`${flow}:jobs`)).toBe(1);
    const begin = (part: number) =>
      flowBegin.run(rig.redis, [flow, `${flow}:jobs`, k.jobs], part, '', '1:5000000', 1, []);
    await expect(begin(4)).rejects.toThrow('FLOWLOST');
    await expect(Promise.all([begin(3), begin(3)])).resolves.toEqual([0, 0]);
    expect(await rig.redis.lrange(k.normal, 0, -1)).toEqual(['1']);
  });

  it.each([1, 3])('are made once when %i replies are lost', async (times) => {
    const fn = rig.fn();
    const proxy = await LossyProxy.start(rig.port);
    const actors = new RedisActors(proxy.url);
    const ran: unknown[] = [];
    try {
      proxy.lose = times;
      const children = Array.from({ length: 5 }, (_, number) => node(fn, `child ${number}`));
      const flow = await actors.client().flow(node(fn, 'root', ...children));
      proxy.lose = times;
      const next = await actors.client().run(fn, 'next', { after: flow.jobs });
      expect(await rig.redis.llen(`${keysOf(fn).jobs}${flow.root.id}:children`)).toBe(6);
      await runWorker(actors.source(), fn, (input) => void ran.push(input));
      await next.result({ timeout: '20s' });
      await expect(lastValueFrom(flow.progress$)).resolves.toEqual({ done: 7, failed: 0, total: 7 });
      expect(ran.toSorted()).toEqual([...children.map(({ input }) => input), 'next', 'root'].toSorted());
    } finally {
      actors.close();
      proxy.stop();
    }
  });

  it('that can not be replicated in time have begun all the same', async () => {
    const fn = rig.fn();
    const { commands, hub } = openConnections(rig.url);
    const client = new GearMonkeyClient(new RedisStore(commands, hub, { timeout: 300, keysOf, replicas: 1 }));
    const failed = client.flow(node(fn, 'root', node(fn, 'child')));
    await expect(failed).rejects.toMatchObject({ code: 'NOT_DURABLE', ids: ['1', '2'] });
    await client.close();
    const ran: unknown[] = [];
    await runWorker(rig.source(), fn, (input) => void ran.push(input));
    await expect(rig.client.result(fn, 2, { timeout: '20s' })).resolves.toBeNull();
    expect(ran).toEqual(['root', 'child']);
  });

  it('that have begun are not taken back when the last reply is lost until the timeout', async () => {
    const fn = rig.fn();
    const k = keysOf(fn);
    const flow = flowKey(k.jobs, 'late');
    await rig.redis.hset(flow, 'part', 3, 'total', 2);
    await expect(flowAbandon.run(rig.redis, [flow, `${flow}:jobs`])).resolves.toBe(true);
    await rig.redis.hdel(flow, 'total');
    await expect(flowAbandon.run(rig.redis, [flow, `${flow}:jobs`])).resolves.toBe(false);
    expect(await rig.redis.exists(flow)).toBe(0);
  });

  it('forget a job that expired while it waited', async () => {
    const fn = rig.fn();
    const go = gate();
    await runWorker(rig.source(), fn, () => go.passed);
    const soon = new Date(Date.now() + 200);
    const child: FlowNode = { job: fn, input: 'child', options: { expires: soon } };
    const flow = await rig.client.flow({ job: fn, input: 'root', children: [child] });
    await expect(flow.jobOf(child)?.result()).rejects.toMatchObject({ error: { code: 'JOB_EXPIRED' } });
    expect(await rig.redis.zcard(keysOf(fn).scheduled)).toBe(0);
    go.open();
    await expect(lastValueFrom(flow.progress$)).resolves.toEqual({ done: 1, failed: 1, total: 2 });
  });

  it('of a job that failed and was retried keep those that wait for it', async () => {
    const fn = rig.fn();
    const go = gate();
    let fails = true;
    await runWorker(rig.source(), fn, async (input) => {
      if (input !== 'parent') return;
      if (fails) throw new Error('not yet');
      await go.passed;
    });
    const parent = await rig.client.run(fn, 'parent');
    await expect(rig.client.call(fn, 'first', { after: [parent] })).rejects.toMatchObject({
      code: 'JOB_FAILED',
    });
    const children = `${keysOf(fn).jobs}${parent.id}:children`;
    await eventually(async () => expect(await rig.redis.ttl(children)).toBeGreaterThan(0));
    fails = false;
    await rig.client.retry(fn, parent.id).done;
    const second = await rig.client.run(fn, 'second', { after: [parent] });
    expect(await rig.redis.ttl(children)).toBe(-1);
    go.open();
    await expect(second.result()).resolves.toBeNull();
  });

  it('are not trimmed before those that wait have learned of an end', async () => {
    const fn = rig.fn();
    const k = keysOf(fn);
    const flow = await rig.client.flow(node(fn, 'root', node(fn, 'child')));
    await rig.redis.hset(k.jobs + flow.root.id, {
      state: 'succeeded',
      output: '1',
      finished: 1,
      kept: 60,
      held: 0,
    });
    await rig.redis.zadd(k.members, 2, flow.root.id);
    await rig.redis.zadd(`${k.ended}success`, 1, flow.root.id);
    const lists = ['success', 'failed', 'cancelled'].map((state) => k.ended + state);
    await trim.run(rig.redis, [k.jobs, ...lists, k.retrying], 1_000_000, 10, [90_000_000, 90_000_000, 0, '']);
    expect(await rig.redis.exists(k.jobs + flow.root.id)).toBe(1);
  });

  it('beyond the number that is kept expire soon after those that waited for them have ended', async () => {
    const fn = rig.fn();
    const k = keysOf(fn);
    const go = gate();
    const definition = defineJob(fn, { keep: { success: { count: 1 } } });
    const handler = async (input: unknown) => {
      if (input === 'child') await go.passed;
    };
    await runWorker(rig.source(), definition, handler, { concurrency: 2 });
    const child = node(fn, 'child');
    const flow = await rig.client.flow(node(fn, 'root', child));
    await flow.root.result();
    await rig.client.run(fn, 'other', { blocking: true });
    const lists = ['success', 'failed', 'cancelled'].map((state) => k.ended + state);
    // Once the root's end is long ago enough.
    await eventually(async () => {
      await trim.run(rig.redis, [k.jobs, ...lists, k.retrying], '', 10, [90_000_000, 90_000_000, 1, '']);
      expect(await rig.redis.zscore(`${k.ended}success`, flow.root.id)).toBeNull();
    });
    expect(await rig.redis.ttl(k.jobs + flow.root.id)).toBe(-1);
    go.open();
    await flow.jobOf(child)?.result();
    await eventually(async () => {
      const left = await rig.redis.ttl(k.jobs + flow.root.id);
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThanOrEqual(60);
    });
  });

  it('are cancelled while the memory of the server is full', async () => {
    const fn = rig.fn();
    const flow = await rig.client.flow(node(fn, 'root', node(fn, 'child')));
    await rig.redis.config('SET', 'maxmemory', '1');
    try {
      await expect(flow.cancel()).resolves.toBe(2);
    } finally {
      await rig.redis.config('SET', 'maxmemory', '0');
    }
    await expect(lastValueFrom(flow.progress$)).resolves.toEqual({ done: 0, failed: 2, total: 2 });
  });

  it('that are made while the client closes fail as closed', async () => {
    const fn = rig.fn();
    const actors = new RedisActors(rig.url);
    const children = Array.from({ length: 5000 }, () => node(fn, 'child'));
    const made = actors.client().flow(node(fn, 'root', ...children));
    const refused = expect(made).rejects.toMatchObject({ code: 'CONNECTION' });
    await eventually(async () => expect(await rig.redis.exists(keysOf(fn).ids)).toBe(1));
    actors.close();
    await refused;
  });

  it('see the job whose mark they know, not another that has its id', async () => {
    const fn = rig.fn();
    const job = await rig.client.run(fn, 'first');
    await rig.redis.hset(keysOf(fn).jobs + job.id, 'mark', '7000000');
    await expect(rig.client.run(fn, 'next', { after: [job] })).rejects.toMatchObject({
      code: 'UNKNOWN_PARENT',
    });
    await expect(rig.client.run(fn, 'next', { after: [{ fn, id: job.id }] })).resolves.toMatchObject({
      created: true,
    });
  });
});
