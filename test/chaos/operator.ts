import { setTimeout as sleep } from 'node:timers/promises';
import type { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { JOB_STATES } from '../../lib/job/job-state.js';
import { RedisActors } from '../gearmonkey/redis-rig.js';
import type { Mending, OperatorSeen } from './history.js';
import type { FlowNode } from '../../lib/gearmonkey/features/flows/flow-node.js';
import { HANDLED, MENDED, OPENED } from './jobs.mjs';
import { Random } from './random.mjs';

const PAUSE_MS = 100;
/** Milliseconds of each command. */
const TIMEOUT_MS = 5000;
/** More than one call creates. */
const CHILDREN = 220;
const OPEN_EVERY_MS = 2000;
const FUNCTIONS = Object.keys(HANDLED);

/** Retries and discards failed jobs of a function of its own, and reads what there is of all, during faults. */
export class Operator {
  private readonly actors: RedisActors;
  private readonly client: GearMonkeyClient;
  private readonly mendings: Mending[] = [];
  private readonly readErrors = new Map<string, number>();
  private readonly random: Random;
  private readonly parts: Promise<unknown>[];
  private reads = 0;
  private created = 0;
  private stopping = false;

  constructor(url: string, seed: number) {
    this.actors = new RedisActors(url);
    this.client = this.actors.client(undefined, TIMEOUT_MS);
    this.random = new Random(seed);
    const parts = [
      ...[() => this.create(), () => this.mendSome(), () => this.mendSome(), () => this.read()],
      ...[() => this.openFlow(), () => this.meddle(), () => this.meddle()],
    ];
    this.parts = parts.map(async (part) => {
      while (!this.stopping) {
        await part();
        await sleep(PAUSE_MS);
      }
    });
  }

  /** Resolves when everything that it has begun has its answer. */
  async stop(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.parts);
    this.actors.close();
  }

  get seen(): OperatorSeen {
    return { reads: this.reads, readErrors: this.readErrors, mendings: this.mendings };
  }

  /** Jobs fail when they are first run, some also when they are retried once. */
  private async create(): Promise<void> {
    const input = { n: `operator/${++this.created}`, kind: 'mended', rounds: this.random.int(1, 2) };
    await this.client.run(MENDED, input).catch(() => undefined);
  }

  private opened(): { n: string; kind: string } {
    return { n: `opened/${++this.created}`, kind: 'opened' };
  }

  /** Creates a flow in several calls, while `meddle` ends and changes what it finds. */
  private async openFlow(): Promise<void> {
    const last: FlowNode = { job: OPENED, input: this.opened() };
    const children = Array.from({ length: CHILDREN }, () => ({
      job: OPENED,
      input: this.opened(),
      options: { onParentError: this.random.pick(['run', 'fail'] as const) },
      children: [last],
    }));
    await this.client.flow({ job: OPENED, input: this.opened(), children }).catch(() => undefined);
    await sleep(this.random.int(0, OPEN_EVERY_MS));
  }

  private async meddle(): Promise<void> {
    const { jobs } = await this.client
      .list(OPENED, { state: 'scheduled', size: 20 })
      .catch(() => ({ jobs: [] }));
    // A list shows no job of a flow that is still being created, but their ids can be guessed.
    const guess = Number(jobs.at(0)?.id ?? 0) + this.random.int(1, 2 * CHILDREN);
    const id = this.random.next() < 0.5 ? String(guess) : jobs[this.random.int(0, jobs.length - 1)]?.id;
    if (id === undefined) return;
    const acts: (() => Promise<unknown>)[] = [
      () => this.client.cancel(OPENED, id),
      () => this.client.update(OPENED, id, { input: this.opened() }),
      () => this.client.update(OPENED, id, { priority: 'low' }),
      () => this.client.signal(OPENED, id, 'go'),
      () => this.client.run(OPENED, this.opened(), { after: [{ fn: OPENED, id }] }),
      () => this.client.drain(OPENED, { states: ['scheduled'] }),
    ];
    const act = acts[Math.min(this.random.int(0, 9), this.random.int(0, acts.length - 1))];
    await act?.().catch(() => undefined);
  }

  private async mendSome(): Promise<void> {
    const { jobs } = await this.client
      .list(MENDED, { state: 'failed', size: 10 })
      .catch(() => ({ jobs: [] }));
    const job = jobs[this.random.int(0, Math.max(0, jobs.length - 1))];
    if (!job) return;
    const chance = this.random.next();
    if (chance < 0.1) await Promise.all([this.mend('retry', job.id), this.mend('discard', job.id)]);
    else if (chance < 0.7) await this.mend('retry', job.id);
    else if (chance < 0.9) await this.mend('discard', job.id);
    else await this.mend(chance < 0.97 ? 'retry' : 'discard');
  }

  /** @param id without one, all that have failed */
  private async mend(verb: Mending['verb'], id?: string): Promise<void> {
    const told = await this.client[verb](MENDED, id ?? { state: 'failed' }).done.catch(codeOf);
    this.mendings.push({ verb, told, ...(id !== undefined && { id }) });
  }

  private async read(): Promise<void> {
    const fn = this.random.shuffle(FUNCTIONS)[0] as string;
    const state = this.random.shuffle(JOB_STATES)[0] ?? 'failed';
    const reads: (() => Promise<unknown>)[] = [
      () => this.client.overview(),
      () => this.client.list(fn, { state, payloads: this.random.next() < 0.5 }),
      () => this.client.failures(fn),
      () => this.client.statistics(fn, { by: 'minute' }),
    ];
    for (const read of reads) {
      this.reads += 1;
      await read().catch((error: unknown) => {
        const code = codeOf(error);
        this.readErrors.set(code, (this.readErrors.get(code) ?? 0) + 1);
      });
    }
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
