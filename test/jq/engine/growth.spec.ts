import { beforeEach, describe, expect, it } from '@jest/globals';
import * as operations from '../../../lib/jq/engine/operations.js';
import type { HandedJob } from '../../../lib/jq/engine/operations.js';
import { useRedis } from '../../support/use-redis.js';
import { pack } from '../../../lib/jq/message-pack/pack.js';
import { Raw } from '../../../lib/jq/message-pack/raw.js';
import { EngineRig, NO_LIMITS } from './engine-rig.js';

const WORKERS = 10_000;
const NAMES = 1000;
const AT_ONCE = 500;
const MANY = 100;

describe('what a job costs Redis', () => {
  const used = useRedis();
  let rig: EngineRig;
  beforeEach(() => {
    rig = new EngineRig(used.redis, `{${used.fn('jq')}}:`, { maxWorkers: 2 * WORKERS });
  });

  const register = async (
    count: number,
    namesOf: (i: number) => string[],
    prefix: string,
    url = 'http://w',
    maxJobs = 1,
  ) => {
    for (let from = 0; from < count; from += AT_ONCE) {
      const list = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, i) => {
        const id = `${prefix}${(from + i).toString(16).padStart(15, '0')}`;
        return operations.register(id, {
          name: 'w',
          maxJobs,
          ...(url ? { url } : {}),
          names: namesOf(from + i),
        });
      });
      await rig.turn(list);
    }
    await rig.handOut();
  };

  /** Commands that Redis ran for this, those of scripts among them. */
  const commandsOf = async (run: () => Promise<unknown>): Promise<number> => {
    await used.redis.config('RESETSTAT');
    await run();
    const stats = await used.redis.info('commandstats');
    const calls = [...stats.matchAll(/^cmdstat_(?!info|config)\S+?:calls=(\d+)/gm)].map(([, n]) => Number(n));
    return calls.reduce((sum, n) => sum + n, 0);
  };

  it('is the same among ten thousand idle workers of a thousand names as alone', async () => {
    const push = async () => {
      await rig.enqueue({ name: 'rare' });
      const { worker } = await rig.handOutOne();
      return worker;
    };
    await register(20, () => ['rare'], 'a');
    await push();
    const alone = await commandsOf(push);
    await register(WORKERS, (i) => [`n${i % NAMES}`], 'b');
    expect(await commandsOf(push)).toBeLessThanOrEqual(alone + 5);
    await expect(push()).resolves.toMatch(/^a/);
  });

  it('is less where a turn has many jobs: what they share is read and written once', async () => {
    await register(1, () => [], 'a', 'http://w', MANY);
    const request = { priority: 0, maxRetry: 1, keepResult: false, timeout: 30, argument: Raw.EMPTY_MAP };
    const enqueues = Array.from({ length: MANY }, (_, i) =>
      operations.enqueue({ ...request, name: 'mail' }, i.toString(16).padStart(8, '0'), NO_LIMITS),
    );
    const [handed, nothing] = [[] as HandedJob[], { type: 'success', result: Raw.NIL } as const];
    const each = async (run: () => Promise<unknown>) => Math.ceil((await commandsOf(run)) / MANY - 0.2);
    const enqueue = await each(() => rig.turn(enqueues));
    const handOut = await each(async () => handed.push(...(await rig.handOut())));
    expect(handed).toHaveLength(MANY);
    const accept = await each(() =>
      rig.turn(handed.map((job) => operations.answer(job, { status: 'accepted' }))),
    );
    const report = await each(() =>
      rig.turn(handed.map(({ id, worker }) => operations.done(worker, { jobId: id, ...nothing }))),
    );
    expect({ enqueue, handOut, accept, report }).toEqual({ enqueue: 5, handOut: 18, accept: 8, report: 8 });
  });

  it('is bounded if no worker wants thousands of names, and an idle turn does nothing for them', async () => {
    for (let i = 0; i < 2000; i++) await rig.enqueue({ name: `unwanted-${i}`, priority: -1 });
    await register(200, () => ['other'], 'a');
    await rig.handOut();
    expect(await commandsOf(() => rig.turn([], { pushes: 100 }))).toBeLessThan(30);
    await rig.enqueue({ name: 'other' });
    const reply = await rig.turn([], { pushes: 100 });
    expect(reply.handed.map(({ name }) => name)).toEqual(['other']);
    expect(reply.more).toBe(false);
  });

  it('of a name whose thousand workers are all full is bounded, and it goes to the first that has room', async () => {
    await register(1500, (i) => ['x', `own-${i}`], 'a');
    for (let i = 0; i < 1500; i++) await rig.enqueue({ name: `own-${i}` });
    const held = await rig.handOut(1500);
    expect(held).toHaveLength(1500);
    for (const job of held) await rig.answer(job, 'accepted');
    await rig.enqueue({ name: 'x' });
    await expect(rig.handOut()).resolves.toEqual([]);
    expect(await commandsOf(() => rig.turn([], { pushes: 100 }))).toBeLessThan(30);
    const [, , third] = held;
    if (!third) throw new Error('Expected three jobs.');
    await rig.succeed(third);
    await expect(rig.handOutOne()).resolves.toMatchObject({ name: 'x', worker: third.worker });
  });

  it('hands out a bounded number of bytes a turn', async () => {
    const argument = new Raw(pack({ text: 'x'.repeat(3 * 1024 * 1024) }));
    for (let i = 0; i < 12; i++) await rig.enqueue({ argument });
    await rig.worker({ maxJobs: 12 });
    const { handed, more } = await rig.turn([], { pushes: 100 });
    expect(handed.length).toBeLessThanOrEqual(6);
    expect(more).toBe(true);
    expect(await rig.handOut()).toHaveLength(12 - handed.length);
  });
});
