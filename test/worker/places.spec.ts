import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { setImmediate as turn } from 'node:timers/promises';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Clock } from '../../lib/job/clock.js';
import { defineJob } from '../../lib/job/job-definition.js';
import type { Claim, FreeSlots, JobSource, OnRevoked, Outcome } from '../../lib/job/job-source.js';
import { ALL_CAPABILITIES } from '../../lib/job/source-capabilities.js';
import { ok } from '../../lib/worker/batch.js';
import type { RunningJob } from '../../lib/worker/running-job.js';
import { runWorker, stopWorkers } from '../support/run-worker.js';

/** What happens to a job. Times are turns of the event loop. */
interface Fate {
  /** How long `aroundRun`, the handler, its last log line and the schema of its output take. */
  readonly context: number;
  readonly handler: number;
  readonly flush: number;
  readonly schema: number;
  readonly timeout: number | undefined;
  readonly revoked: { readonly after: number; readonly why: 'lost' | 'cancelled' } | undefined;
}

interface Program {
  readonly size: number | undefined;
  readonly concurrency: number;
  readonly fates: readonly Fate[];
}

const TURN = fc.integer({ min: 0, max: 4 });
const PROGRAMS: fc.Arbitrary<Program> = fc.record({
  size: fc.constantFrom(undefined, 1, 2, 3),
  concurrency: fc.integer({ min: 1, max: 3 }),
  fates: fc.array(
    fc.record({
      context: TURN,
      handler: TURN,
      flush: TURN,
      schema: TURN,
      timeout: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
      revoked: fc.option(
        fc.record({ after: fc.integer({ max: 12, min: 0 }), why: fc.constantFrom('lost', 'cancelled') }),
        { nil: undefined },
      ),
    }),
    { minLength: 1, maxLength: 20 },
  ),
});

async function turns(count: number): Promise<void> {
  for (let passed = 0; passed < count; passed++) await turn();
}

/** Hands out jobs, and notes which its worker holds. A turn of the event loop is a millisecond of its clock. */
class Supply implements JobSource {
  readonly capabilities = ALL_CAPABILITIES;
  readonly held = new Set<Claim>();
  /** What is asked of the worker before jobs are handed out. */
  check = (_free: number): void => undefined;
  slots: FreeSlots | undefined;
  readonly clock: Clock;
  private onRevoked: OnRevoked = () => undefined;
  private now = 0;
  private readonly timers = new Set<{ at: number; run: () => void }>();
  private readonly claims: Claim[];

  constructor(private readonly fates: readonly Fate[]) {
    this.claims = fates.map(({ timeout }, index) => ({
      ...{
        fn: 'fn',
        id: String(index),
        token: index,
        input: Buffer.from(String(index)),
        attempts: 1,
        stalls: 0,
      },
      options: timeout === undefined ? {} : { timeout },
    }));
    this.clock = {
      now: () => this.now,
      elapsed: () => this.now,
      after: (ms, run) => {
        const timer = { at: this.now + ms, run };
        this.timers.add(timer);
        return () => this.timers.delete(timer);
      },
    };
  }

  get isDone(): boolean {
    return this.claims.length === 0 && this.held.size === 0;
  }

  async open(_: readonly string[], onRevoked: OnRevoked = () => undefined): Promise<void> {
    this.onRevoked = onRevoked;
  }

  async claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    this.slots = slots;
    while (!signal.aborted) {
      this.check(slots.of('fn'));
      const claims = this.claims.splice(0, slots.of('fn'));
      for (const claim of claims) {
        this.held.add(claim);
        const { revoked } = this.fates[Number(claim.id)] as Fate;
        if (revoked) this.clock.after(revoked.after, () => this.revoke(claim, revoked.why));
      }
      if (claims.length > 0) return claims;
      await turn();
    }
    return [];
  }

  async settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]> {
    for (const { claim } of outcomes) this.held.delete(claim);
    return [];
  }

  readonly records = {
    steps: { read: async () => new Map(), write: async () => true, now: async () => 0 },
    streams: {
      append: async ({ id }: { readonly id: string }) => {
        await turns(this.fates[Number(id)]?.flush ?? 0);
        return true;
      },
    },
  };

  progress = async () => true;
  renew = async () => [];
  close = async () => undefined;

  pass(): void {
    this.now += 1;
    for (const timer of [...this.timers]) if (timer.at <= this.now && this.timers.delete(timer)) timer.run();
  }

  private revoke(claim: Claim, why: 'lost' | 'cancelled'): void {
    if (this.held.delete(claim)) this.onRevoked(claim, why);
  }
}

async function play({ size, concurrency, fates }: Program): Promise<void> {
  const supply = new Supply(fates);
  const fateOf = (input: unknown) => fates[Number(input)] as Fate;
  const output: StandardSchemaV1<unknown, unknown> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: async (value) => {
        await turns(fateOf(value).schema);
        return { value };
      },
    },
  };
  let together = 0;
  const batches = new Set<readonly RunningJob[]>();
  /** Those with a job whose run has not ended: others have no places. */
  const batchesRunning = () =>
    [...batches].filter((jobs) => jobs.some(({ signal }) => !signal.aborted)).length;
  let ended = 0;
  const one = async (input: unknown, job: RunningJob) => {
    if (job.signal.aborted) ended += 1;
    await turns(fateOf(input).handler);
    if (fateOf(input).flush > 0) void job.log('done').catch(() => undefined);
    return input;
  };
  const handle = async (input: unknown, job: unknown) => {
    if (size === undefined) return one(input, job as RunningJob);
    const inputs = input as unknown[];
    together = Math.max(together, inputs.length);
    batches.add(job as RunningJob[]);
    const outputs = await Promise.all(
      inputs.map((each, at) => one(each, (job as RunningJob[])[at] as RunningJob)),
    );
    batches.delete(job as RunningJob[]);
    return outputs.map((each) => ok(each));
  };
  const definition = defineJob('fn', { input: anything, output });
  const { worker } = await runWorker(supply, definition, handle as never, {
    concurrency,
    ...(size === undefined ? {} : { batch: { size, wait: 0 } }),
    middleware: [
      {
        aroundRun: async (_, next) => {
          await turns(fates[supply.held.size % fates.length]?.context ?? 0);
          return next();
        },
      },
    ],
  });
  const places = concurrency * (size ?? 1);
  const problems: string[] = [];
  supply.check = (free) => {
    const [{ running = 0 } = {}] = worker.list();
    if (free + running > places)
      problems.push(`${free} places are free while ${running} of ${places} jobs run`);
    if (size !== undefined && free > (concurrency - batchesRunning()) * size)
      problems.push(`${free} places are free while ${batchesRunning()} of ${concurrency} batches run`);
  };
  try {
    for (let passed = 0; !(supply.isDone && supply.slots?.of('fn') === places); passed++) {
      if (passed > 2000)
        throw new Error(
          `${supply.slots?.of('fn')} of ${places} places are free; ${supply.held.size} jobs are held`,
        );
      supply.pass();
      await turn();
    }
    expect(problems).toEqual([]);
    expect(together).toBeLessThanOrEqual(size ?? 0);
    expect(ended).toBe(0);
  } finally {
    await stopWorkers();
  }
}

const anything: StandardSchemaV1<unknown, unknown> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) },
};

it('a worker claims no more jobs than it has places, and has all of them again, however and whenever runs end', async () => {
  await fc.assert(fc.asyncProperty(PROGRAMS, play), { numRuns: 300 });
});
