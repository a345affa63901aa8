import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import type { FlowNode } from '../../../lib/gearmonkey/features/flows/flow-node.js';
import type { RedisStore } from '../../../lib/gearmonkey/redis-store.js';
import type { RedisFlows } from '../../../lib/gearmonkey/features/flows/redis-flows.js';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { randomFlows } from '../../model/flow-model.js';
import { runWorker } from '../../support/run-worker.js';
import { eventually } from '../../support/until.js';
import { useRedis } from '../../support/use-redis.js';
import { RedisActors } from '../redis-rig.js';
import { steppedClient } from './stepped-flows.js';

/** The score of jobs that wait for others. */
const NEVER = 9_000_000_000;
const RUNS = 60;
/** More than one flow takes, which is begun anew twice at most. */
const PICKS_A_DELETION = 40;

describe('A flow that is still being created', () => {
  const server = useRedis();
  let actors: RedisActors;
  let store: RedisStore;
  let client: ReturnType<RedisActors['client']>;
  let picks = 0;
  beforeAll(() => {
    actors = new RedisActors(server.url);
    [store, client] = [actors.store(), actors.client()];
  });
  afterAll(() => actors.close());

  /** All that others may ask of a job of a flow. What there is not yet can't be found. */
  async function askForAll(fn: string, id: string): Promise<void> {
    const missing = { code: 'JOB_NOT_FOUND' };
    await expect(client.cancel(fn, id)).rejects.toMatchObject(missing);
    await expect(client.update(fn, id, { input: 'another' })).rejects.toMatchObject(missing);
    await expect(client.update(fn, id, { priority: 'high' })).rejects.toMatchObject(missing);
    await expect(client.signal(fn, id, 'go')).rejects.toMatchObject(missing);
    await expect(client.run(fn, 1, { after: [{ fn, id }] })).rejects.toMatchObject({
      code: 'UNKNOWN_PARENT',
    });
    await expect(client.drain(fn, { states: ['waiting', 'scheduled', 'retrying'] })).resolves.toBe(0);
    await expect(client.retry(fn, id).done).resolves.toBe(0);
    await expect(client.discard(fn, id).done).resolves.toBe(0);
    await expect(store.expire(fn, { id })).resolves.toBe(-1);
    await expect(client.list(fn, { state: 'scheduled' })).resolves.toMatchObject({ jobs: [] });
    await expect(client.find(fn, { id })).resolves.toMatchObject({ jobs: [] });
    await expect(client.described(fn, id)).resolves.toBeUndefined();
    await expect(client.payload(fn, id, 'input', 10)).resolves.toBeUndefined();
    const [name = '', root = ''] = (await server.redis.hget(`job:${fn}:${id}`, 'flow'))?.split(':') ?? [];
    await expect(store.flows.cancel(root, name)).resolves.toBe(0);
    await look(fn, id);
  }

  /** What the leader of a function does once a second. */
  const look = (fn: string, ...orphans: string[]) =>
    (store.flows as RedisFlows).settle(fn, [fn], { review: true, orphans });

  /** Asks for some job of each function. */
  async function between(functions: readonly string[]): Promise<void> {
    for (const fn of functions) {
      const ids = await server.redis.zrangebyscore(keysOf(fn).scheduled, NEVER, NEVER);
      const id = ids[(picks += 1) % ids.length];
      if (id !== undefined) await askForAll(fn, id);
    }
  }

  /** Also deletes a job by hand now and then, before its lists are written: then the client begins anew. */
  async function betweenAndDelete(functions: readonly string[]): Promise<void> {
    await between(functions);
    if (picks < PICKS_A_DELETION) return;
    for (const fn of functions) {
      const [root, child] = await server.redis.zrangebyscore(keysOf(fn).scheduled, NEVER, NEVER);
      if (child === undefined || (await server.redis.exists(`job:${fn}:${root}:children`)) > 0) continue;
      picks = 0;
      await server.redis.del(`job:${fn}:${child}`);
      await look(fn);
    }
  }

  randomFlows(async () => {
    await Promise.resolve();
    const stepped = steppedClient(server.url, betweenAndDelete);
    const close = async () => {
      await stepped.client.close();
      stepped.close();
    };
    return {
      ...{ fn: () => server.fn(), client: () => stepped.client, close },
      source: () => actors.source(),
    };
  }, RUNS);

  it('with many lists, which take several calls, runs as a whole', async () => {
    const [fn, other] = [server.fn(), server.fn()];
    const stepped = steppedClient(server.url, between);
    const ran: unknown[] = [];
    for (const each of [fn, other])
      await runWorker(actors.source(), each, (input) => void ran.push(input), { concurrency: 20 });
    const last: FlowNode = { job: fn, input: 'last' };
    const children = Array.from({ length: 150 }, (_, input) => ({ job: other, input, children: [last] }));
    const flow = await stepped.client.flow({ job: fn, input: 'first', children });
    await expect(lastValueFrom(flow.progress$)).resolves.toEqual({ done: 152, failed: 0, total: 152 });
    expect(ran).toHaveLength(152);
    expect(ran.at(-1)).toBe('last');
    await stepped.client.close();
    stepped.close();
  });

  it.each([2, 3, 4, 5])('leaves nothing behind if it fails before call %i', async (call) => {
    const [fn, other] = [server.fn(), server.fn()];
    let calls = 0;
    const stepped = steppedClient(server.url, async (functions) => {
      await between(functions);
      if ((calls += 1) === call) throw new Error('as told');
    });
    const flow = stepped.client.flow({ job: fn, input: 1, children: [{ job: other, input: 2 }] });
    await expect(flow).rejects.toThrow('as told');
    const left = await server.redis.keys(`*:{${fn},${other}}*`);
    for (const key of [...(await server.redis.keys(`*:${fn}*`)), ...(await server.redis.keys(`*:${other}*`))])
      if (!/^(uid|control|sender):/.test(key)) left.push(key);
    expect(left).toEqual([]);
    await stepped.client.close();
    stepped.close();
  });

  it.each([
    ['its lists are written', 4, 'succeeded'],
    ['it begins', 5, 'failed'],
  ] as const)('that loses a job before %s ends in whole', async (_, call, state) => {
    const [fn, other] = [server.fn(), server.fn()];
    let calls = 0;
    const stepped = steppedClient(server.url, async () => {
      if ((calls += 1) !== call) return;
      const [id] = await server.redis.zrangebyscore(keysOf(other).scheduled, NEVER, NEVER);
      expect(await server.redis.del(`job:${other}:${id}`)).toBe(1);
      await look(other);
    });
    const last: FlowNode = { job: fn, input: 'last' };
    const child: FlowNode = { job: other, input: 'deleted', children: [last] };
    const flow = await stepped.client.flow({ job: fn, input: 'root', children: [child] });
    for (const each of [fn, other]) await runWorker(actors.source(), each, () => 'done');
    await eventually(async () => expect((await flow.jobOf(last)?.get())?.state).toBe(state));
    await eventually(async () => {
      const { members, scheduled } = keysOf(other);
      expect(await server.redis.exists(keysOf(fn).members, keysOf(fn).scheduled, members, scheduled)).toBe(0);
    });
    await stepped.client.close();
    stepped.close();
  });

  it('waits with what follows from the end of a job that a user without the right to read the flow has ended', async () => {
    const [fn, other] = [server.fn(), server.fn()];
    const user = `user-${other}`;
    await server.redis.acl('SETUSER', user, 'on', '>secret', `~*:${other}`, `~*:${other}:*`, '&*', '+@all');
    const limited = new RedisActors(server.url.replace('redis://', `redis://${user}:secret@`));
    let cancelled: string | undefined;
    const stepped = steppedClient(server.url, async () => {
      const [id] = await server.redis.zrangebyscore(keysOf(other).scheduled, NEVER, NEVER);
      if (id === undefined || cancelled !== undefined) return;
      await expect(limited.client().cancel(other, id)).resolves.toBe(true);
      await (store.flows as RedisFlows).settle(other, [other], { review: true });
      cancelled = id;
    });
    const [runs, waits]: FlowNode[] = [
      { job: fn, input: 'runs', options: { onParentError: 'run' } },
      { job: fn, input: 'waits' },
    ];
    const child: FlowNode = {
      job: other,
      input: 'cancelled',
      children: [runs as FlowNode, waits as FlowNode],
    };
    const flow = await stepped.client.flow({ job: fn, input: 'root', children: [child] });
    const ran: unknown[] = [];
    for (const each of [fn, other]) await runWorker(actors.source(), each, (input) => void ran.push(input));
    await expect(lastValueFrom(flow.progress$)).resolves.toEqual({ done: 2, failed: 2, total: 4 });
    expect(flow.jobOf(child)?.id).toBe(cancelled);
    expect(ran).toEqual(['root', 'runs']);
    await eventually(async () => {
      expect(await server.redis.exists(keysOf(fn).members, keysOf(other).members)).toBe(0);
    });
    limited.close();
    await server.redis.acl('DELUSER', user);
    await stepped.client.close();
    stepped.close();
  });
});
