import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import type { HandedJob, Operation, PushOutcome } from '../../../lib/jq/engine/operations.js';
import * as operations from '../../../lib/jq/engine/operations.js';
import { useRedis } from '../../support/use-redis.js';
import { EngineRig, NO_LIMITS } from './engine-rig.js';
import { Raw } from '../../../lib/jq/message-pack/raw.js';

const JOBS = 8;
const MAX_QUEUED = 10;
const LARGE = 2000;
/** The scores of `delayed` are drawn; the others only say where to look for work. */
const INEXACT = /^(delayed|stirred|pullers|classes:.*|dry:.*)$/;

const which = fc.nat({ max: 20 });
const status = fc.constantFrom<Exclude<PushOutcome['status'], 'busy' | 'invalid'>>(
  ...(['accepted', 'accepted', 'accepted', 'unknown_name', 'undelivered', 'gone'] as const),
  ...(['refused', 'broken', 'silent'] as const),
);

type Step =
  | { readonly do: 'enqueue'; readonly priority: number; readonly large: boolean }
  | { readonly do: 'answer'; readonly which: number; readonly status: PushOutcome['status'] }
  | { readonly do: 'succeed' | 'fail' | 'busy' | 'cancel'; readonly which: number }
  | { readonly do: 'ping' | 'pull' | 'unregister' | 'probed'; readonly which: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('answer' as const), which, status }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom(
        ...(['succeed', 'succeed', 'succeed', 'fail', 'busy', 'cancel'] as const),
        ...(['ping', 'pull', 'pull', 'unregister', 'probed'] as const),
      ),
      which,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('enqueue' as const),
      priority: fc.integer({ min: -1, max: 1 }),
      large: fc.boolean(),
    }),
  },
);

/** A master's keys, with jobs at workers and jobs that wait. The same each time. */
class Scene {
  readonly rig: EngineRig;
  readonly workers: string[] = [];
  readonly ids: string[] = [];
  readonly handed: HandedJob[] = [];

  constructor(
    private readonly redis: Redis,
    prefix: string,
  ) {
    this.rig = new EngineRig(redis, prefix, { maxQueued: MAX_QUEUED, maxPushes: 2 });
  }

  async begin(): Promise<void> {
    for (const maxJobs of [1, 3]) this.workers.push(await this.rig.worker({ maxJobs }));
    this.workers.push(await this.rig.worker({ maxJobs: 2, names: ['mail', 'other'] }));
    this.workers.push(await this.rig.puller({ maxJobs: 2 }));
    for (let i = 0; i < JOBS; i++) this.ids.push(await this.rig.enqueue({ name: i % 2 ? 'mail' : 'other' }));
    this.handed.push(...(await this.rig.handOut()));
    for (const job of this.handed.slice(0, 2)) await this.rig.answer(job, 'accepted');
    for (let i = 0; i < 2; i++) {
      const { job } = await this.rig.pull(this.workers.at(-1) ?? '');
      if (job) this.handed.push(job);
    }
    this.rig.now += 1000;
  }

  operation(next: Step, index: number): Operation<unknown> {
    if (next.do === 'enqueue') return enqueue(next.priority, next.large, index);
    const worker = this.workers[next.which % this.workers.length] ?? '';
    const job = this.handed[next.which % this.handed.length];
    if (!job) throw new Error('No job was handed out.');
    if (next.do === 'answer') return operations.answer(job, { status: next.status } as PushOutcome);
    if (next.do === 'busy') return operations.answer(job, { status: 'busy', rest: 500 });
    if (next.do === 'cancel') return operations.cancel(this.ids[next.which % this.ids.length] ?? '');
    if (next.do === 'ping') return operations.ping(worker);
    if (next.do === 'pull') return operations.pull(worker);
    if (next.do === 'probed') return operations.probed(worker, 'nothing');
    if (next.do === 'unregister') return operations.unregister(worker);
    return operations.done(job.worker, {
      jobId: job.id,
      ...(next.do === 'succeed'
        ? { type: 'success', result: Raw.NIL }
        : { type: 'failure', reason: 'timeout', shouldRetry: true, message: 'boom', error: Raw.NIL }),
    });
  }

  /** All keys with their values. */
  async dump(): Promise<Record<string, unknown>> {
    const { prefix } = this.rig;
    const keys = (await this.redis.keys(`${prefix}*`)).map((key) => key.slice(prefix.length)).sort();
    const exact = keys.filter((key) => !INEXACT.test(key));
    const values = await Promise.all(exact.map(async (key) => [key, await this.valueOf(prefix + key)]));
    return Object.fromEntries(values) as Record<string, unknown>;
  }

  private async valueOf(key: string): Promise<unknown> {
    const type = await this.redis.type(key);
    if (type === 'hash') return this.redis.hgetall(key);
    if (type === 'zset') return this.redis.zrange(key, '0', '-1', 'WITHSCORES');
    return type === 'set' ? (await this.redis.smembers(key)).sort() : this.redis.get(key);
  }
}

function enqueue(priority: number, large: boolean, index: number): Operation<unknown> {
  const argument = large ? new Raw(Buffer.alloc(LARGE, 0xc0)) : Raw.EMPTY_MAP;
  const request = { name: 'mail', argument, priority, maxRetry: 1, keepResult: true, timeout: 30 };
  return operations.enqueue(request, index.toString(16).padStart(8, '0'), NO_LIMITS);
}

const readable = (value: unknown): unknown =>
  Buffer.isBuffer(value) ? value.toString('latin1') : Array.isArray(value) ? value.map(readable) : value;

describe('operations that come in the same turn', () => {
  const used = useRedis();

  it('end as if each had a turn of its own', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 25 }), async (steps) => {
        const [together, apart] = [0, 1].map(() => new Scene(used.redis, `{${used.fn('jq')}}:`));
        if (!together || !apart) throw new Error('Expected two.');
        await Promise.all([together.begin(), apart.begin()]);
        const { replies } = await together.rig.turn(steps.map((each, i) => together.operation(each, i)));
        const alone: unknown[] = [];
        for (const [i, each] of steps.entries()) {
          alone.push(...(await apart.rig.turn([apart.operation(each, i)])).replies);
        }
        expect(readable(replies)).toEqual(readable(alone));
        expect(await together.rig.handOut()).toEqual(await apart.rig.handOut());
        expect(await together.dump()).toEqual(await apart.dump());
      }),
      { numRuns: 100 },
    );
  });
});
