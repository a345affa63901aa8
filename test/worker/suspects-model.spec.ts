import { describe, expect, it } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { codecOf } from '../../lib/job/codec.js';
import { defineJob } from '../../lib/job/job-definition.js';
import type { Claim, FreeSlots, JobSource, Outcome } from '../../lib/job/job-source.js';
import { Isolation } from '../../lib/worker/isolation.js';
import { bindHandler } from '../../lib/worker/job-handler.js';
import { JobWorker } from '../../lib/worker/job-worker.js';
import type { RunningJob } from '../../lib/worker/running-job.js';

const [MAX_STALLS, CONCURRENCY, PROCESSES, LONGEST_MS] = [2, 4, 2, 2 ** 31 - 1];
const SEEDS = Array.from({ length: 30 }, (_, index) => index + 1);

interface ModelJob {
  readonly id: string;
  /** Whether it ends its process when it runs. */
  readonly kills: boolean;
  stalls: number;
  isWaiting: boolean;
  end?: 'success' | 'stalled';
}

/** A process with two workers, as of two instances, that share what the process has. */
class ModelProcess {
  readonly held = new Map<string, ModelJob>();
  /** What ends the run of each job. */
  readonly runs = new Map<ModelJob, () => void>();
  /** Jobs that have begun beside a suspect. */
  readonly beside: string[] = [];
  private alone: ModelJob | undefined;
  isDead = false;

  private constructor(private readonly server: ModelServer) {}

  static async start(server: ModelServer): Promise<ModelProcess> {
    const made = new ModelProcess(server);
    const isolation = new Isolation(LONGEST_MS);
    const options = {
      codec: codecOf('json'),
      maxPayloadBytes: 1000,
      log: { warn: () => {}, error: () => {} },
    };
    const handle = (_: unknown, { id }: RunningJob) => made.run(id);
    for (const fn of ['one', 'two']) {
      const binding = bindHandler(defineJob(fn), { concurrency: CONCURRENCY }, handle);
      await new JobWorker(made.source(fn), [binding], { ...options, isolation }).start();
    }
    return made;
  }

  /** All that it held has lost its worker. */
  die(): void {
    this.isDead = true;
    for (const job of this.held.values()) this.server.lost(job);
  }

  private run(id: string): Promise<void> {
    const job = this.held.get(id) as ModelJob;
    if (this.alone && this.runs.has(this.alone)) this.beside.push(id);
    if (job.stalls >= MAX_STALLS) {
      if (this.runs.size > 0) this.beside.push(id);
      this.alone = job;
    }
    return new Promise((resolve) =>
      this.runs.set(job, () => {
        this.runs.delete(job);
        resolve();
      }),
    );
  }

  private source(fn: string): JobSource {
    return {
      capabilities: { limits: false, snooze: false, steps: false } as JobSource['capabilities'],
      open: async () => {},
      claim: (slots, signal) => this.claim(fn, slots, signal),
      renew: async () => [],
      progress: async () => true,
      leases: {
        isolate: async (claim, begins) => {
          const job = this.held.get(claim.id);
          if (job) job.isWaiting = !begins;
          return job !== undefined;
        },
      },
      settle: async (outcomes) => this.settle(outcomes),
      close: async () => {},
    };
  }

  private async claim(fn: string, slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    for (;;) {
      if (this.isDead || signal.aborted) return new Promise(() => {});
      const jobs = this.server.take(slots.of(fn));
      for (const job of jobs) this.held.set(job.id, job);
      if (jobs.length > 0) return jobs.map((job) => claimOf(fn, job));
      await turn();
    }
  }

  private async settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]> {
    if (this.isDead) return [];
    for (const { claim, status } of outcomes) {
      const job = this.held.get(claim.id) as ModelJob;
      this.held.delete(claim.id);
      this.runs.delete(job);
      if (status === 'released') this.server.queue.unshift(job);
      else job.end = 'success';
    }
    return [];
  }
}

function claimOf(fn: string, { id, stalls }: ModelJob): Claim {
  const claim = { fn, id, token: 1, input: Buffer.from('1'), attempts: stalls + 1, stalls, options: {} };
  return stalls >= MAX_STALLS ? { ...claim, suspect: true } : claim;
}

class ModelServer {
  readonly jobs: readonly ModelJob[];
  readonly queue: ModelJob[];

  constructor(random: (below: number) => number) {
    const killers = 1 + random(3);
    this.jobs = Array.from({ length: 12 }, (_, index) => ({
      ...{ id: `${index}`, kills: index < killers, stalls: 0, isWaiting: false },
    }));
    this.queue = this.jobs.toSorted(() => random(3) - 1);
  }

  take(count: number): ModelJob[] {
    return this.queue.splice(0, count).map((job) => Object.assign(job, { isWaiting: false }));
  }

  lost(job: ModelJob): void {
    if (!job.isWaiting) job.stalls += 1;
    if (job.stalls > MAX_STALLS) job.end = 'stalled';
    else this.queue.unshift(job);
  }
}

function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}

/** Ends runs and processes in a random order until all jobs have ended. */
async function play(seed: number): Promise<{ jobs: readonly ModelJob[]; beside: string[] }> {
  const random = randomOf(seed);
  const server = new ModelServer(random);
  const all: ModelProcess[] = [];
  for (let count = 0; count < PROCESSES; count++) all.push(await ModelProcess.start(server));
  for (let step = 0; step < 500 && server.jobs.some(({ end }) => !end); step++) {
    for (let turns = 0; turns < 8; turns++) await turn();
    const events = all
      .filter(({ isDead }) => !isDead)
      .flatMap((process) =>
        [...process.runs].map(([job, finish]) => async () => {
          if (!job.kills) return finish();
          process.die();
          all.push(await ModelProcess.start(server));
        }),
      );
    await events[random(events.length)]?.();
  }
  for (let turns = 0; turns < 8; turns++) await turn();
  for (const process of all) process.isDead = true;
  return { jobs: server.jobs, beside: all.flatMap(({ beside }) => beside) };
}

describe('Suspects, in random histories of processes that some jobs kill', () => {
  it.each(SEEDS)('are told from innocent jobs: %s', async (seed) => {
    const { jobs, beside } = await play(seed);
    expect(jobs.map(({ id, end }) => `${id} ${end}`)).toEqual(
      jobs.map(({ id, kills }) => `${id} ${kills ? 'stalled' : 'success'}`),
    );
    expect(beside).toEqual([]);
  });
});
