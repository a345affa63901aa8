import { describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { ConstraintStore } from '../../../lib/jq/engine/constraint-store.js';
import type { HandedJob } from '../../../lib/jq/engine/operations.js';
import * as operations from '../../../lib/jq/engine/operations.js';
import { Raw } from '../../../lib/jq/message-pack/raw.js';
import { useRedis } from '../../support/use-redis.js';
import { EngineRig } from './engine-rig.js';

const NAMES = ['a', 'b', 'c'] as const;
const LIMITED = 'a';
const TENANTS = 2;
const PER_TENANT = 1;
const MAX_RETRY = 2;
const SECOND = 1000;
const DAY = 24 * 60 * 60 * SECOND;

type Step =
  | { readonly do: 'enqueue'; readonly name: string; readonly priority: number; readonly tenant: number }
  | { readonly do: 'hand out'; readonly jobs: number }
  | { readonly do: 'answer'; readonly which: number; readonly outcome: 'accepted' | 'refused' | 'silent' }
  | { readonly do: 'succeed' | 'fail'; readonly which: number }
  | { readonly do: 'cancel'; readonly which: number }
  | { readonly do: 'pass'; readonly seconds: number }
  | { readonly do: 'leave and come back'; readonly which: number };

const which = fc.nat({ max: 50 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('enqueue' as const),
      name: fc.constantFrom(...NAMES),
      priority: fc.integer({ min: -2, max: 2 }),
      tenant: fc.nat({ max: TENANTS - 1 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('hand out' as const), jobs: fc.integer({ min: 1, max: 5 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      which,
      outcome: fc.constantFrom(
        'accepted' as const,
        'accepted' as const,
        'refused' as const,
        'silent' as const,
      ),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('succeed' as const, 'fail' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), which }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('pass' as const), seconds: fc.integer({ min: 1, max: 40 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('leave and come back' as const), which }) },
);

interface ModelJob {
  readonly id: string;
  readonly name: string;
  readonly priority: number;
  readonly tenant: number;
  ends: number;
}

/** What must hold whatever is done: a model of what each job may do, beside the real scripts. */
class Model {
  readonly jobs = new Map<string, ModelJob>();
  /** All that was handed out, and the latest of each job. */
  private readonly handed: HandedJob[] = [];
  private readonly latest = new Map<string, HandedJob>();
  private readonly workers = new Map<string, number>();

  constructor(
    private readonly redis: Redis,
    private readonly rig: EngineRig,
    private readonly store: ConstraintStore,
  ) {}

  async begin(): Promise<void> {
    const match = [{ field: 'name', equal: LIMITED }];
    await this.store.create({ match, per: 'argument.tenant', concurrency: PER_TENANT });
    await this.store.load();
    for (const maxJobs of [1, 3]) await this.join(maxJobs);
  }

  async take(next: Step): Promise<void> {
    if (next.do === 'enqueue') await this.enqueue(next);
    else if (next.do === 'hand out') await this.handOut(next.jobs);
    else if (next.do === 'pass') await this.rig.pass(next.seconds * SECOND);
    else if (next.do === 'cancel') await this.cancel(pick([...this.jobs.keys()], next.which));
    else if (next.do === 'leave and come back') await this.leave(pick([...this.workers.keys()], next.which));
    else await this.tell(next, pick(this.handed, next.which));
    await this.checkLimits();
  }

  /** Every job that was not cancelled comes to an end, and to one only. */
  async drain(): Promise<void> {
    for (let round = 0; round < 200 && !(await this.isOver()); round++) {
      await this.handOut(100);
      for (const job of this.latest.values()) await this.tell({ do: 'succeed' }, job);
      await this.rig.pass(60 * SECOND);
    }
    expect(await this.isOver()).toBe(true);
    for (const { ends } of this.jobs.values()) expect(ends).toBeLessThanOrEqual(1);
  }

  private async isOver(): Promise<boolean> {
    const views = await Promise.all([...this.jobs.keys()].map((id) => this.rig.view(id)));
    return views.every((view) => view && operations.hasEnded(view));
  }

  private async join(maxJobs: number): Promise<void> {
    this.workers.set(await this.rig.worker({ maxJobs }), maxJobs);
  }

  private async leave(worker: string | undefined): Promise<void> {
    const maxJobs = worker === undefined ? undefined : this.workers.get(worker);
    if (worker === undefined || maxJobs === undefined) return;
    await this.rig.run(operations.unregister(worker));
    this.workers.delete(worker);
    await this.rig.pass(0);
    await this.join(maxJobs);
  }

  private async enqueue({ name, priority, tenant }: Step & { do: 'enqueue' }): Promise<void> {
    const job = { name, priority, maxRetry: MAX_RETRY, argument: new Raw(Buffer.from(encode({ tenant }))) };
    const id = await this.rig.enqueue(job, this.store.current.limitsOf(job));
    this.jobs.set(id, { id, name, priority, tenant, ends: 0 });
  }

  private async handOut(count: number): Promise<void> {
    const before = await Promise.all(
      [...this.jobs.keys()].map(async (id) => [id, await this.rig.view(id)] as const),
    );
    const { handed } = await this.rig.turn([], { pushes: count });
    for (const job of handed) {
      const status = before.find(([id]) => id === job.id)?.[1]?.status;
      expect(['queued', 'retrying']).toContain(status);
      expect(job.attempt).toBeGreaterThan(this.latest.get(job.id)?.attempt ?? 0);
      this.latest.set(job.id, job);
      this.handed.push(job);
    }
    const order = handed.map((job) => this.jobs.get(job.id)?.priority ?? 0);
    expect(order).toEqual(order.toSorted((one, other) => one - other));
  }

  private async tell(
    next: { do: string; outcome?: 'accepted' | 'refused' | 'silent' },
    job?: HandedJob,
  ): Promise<void> {
    if (!job) return;
    if (next.outcome) return this.rig.answer(job, next.outcome);
    const known = this.jobs.get(job.id);
    const before = await this.rig.view(job.id);
    const { attempt } = job;
    const reply = await (next.do === 'fail'
      ? this.rig.fail(job, { attempt })
      : this.rig.succeed(job, null, attempt));
    if (reply === 'taken') {
      expect(before && operations.hasEnded(before)).toBe(false);
      expect(attempt).toBe(this.latest.get(job.id)?.attempt);
    }
    const after = await this.rig.view(job.id);
    if (known && reply === 'taken' && after && operations.hasEnded(after)) known.ends += 1;
  }

  private async cancel(id: string | undefined): Promise<void> {
    if (id === undefined) return;
    if ((await this.rig.run(operations.cancel(id))) !== 'cancelled') return;
    this.jobs.delete(id);
    this.latest.delete(id);
  }

  private async checkLimits(): Promise<void> {
    const running = new Map<string, number>();
    const tenants = new Map<number, number>();
    for (const { id, name, tenant } of this.jobs.values()) {
      const [state, worker = ''] = await this.redis.hmget(`${this.rig.prefix}job:${id}`, 'state', 'worker');
      if (state !== 'pushing' && state !== 'running') continue;
      running.set(worker ?? '', (running.get(worker ?? '') ?? 0) + 1);
      if (name === LIMITED) tenants.set(tenant, (tenants.get(tenant) ?? 0) + 1);
    }
    for (const [worker, count] of running) expect(count).toBeLessThanOrEqual(this.workers.get(worker) ?? 0);
    for (const count of tenants.values()) expect(count).toBeLessThanOrEqual(PER_TENANT);
  }
}

function pick<T>(list: readonly T[], index: number): T | undefined {
  return list[index % Math.max(1, list.length)];
}

describe('the engine, whatever is done to it', () => {
  const used = useRedis();

  it('hands out by priority within all limits, ends every job once, and leaves nothing behind', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
        const rig = new EngineRig(used.redis, `{${used.fn('jq')}}:`);
        const model = new Model(used.redis, rig, new ConstraintStore(rig));
        await model.begin();
        for (const next of steps) await model.take(next);
        await model.drain();
        await rig.pass(DAY + DAY);
        const keys = (await used.redis.keys(`${rig.prefix}*`)).map((key) => key.slice(rig.prefix.length));
        const kept =
          /^(workers?|free|members|stirred|silent|swept|ids|names|constraints|constraints-version|limits)(:|$)/;
        expect(keys.filter((key) => !kept.test(key))).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});
