import type { JobKey } from '../wire/protocol.js';

/** An output that was sent, and whose it is. */
export interface Reply {
  readonly job: JobKey;
  readonly output: string;
}

/** What an enqueue under way is told once its job's id is known. */
export interface Expectation {
  /** Whether a job with this id has finished meanwhile, and its output if that was sent. */
  of(id: string): { readonly reply?: Reply | undefined } | undefined;
  /** Messages may have been missed meanwhile. */
  readonly hasGaps: boolean;
  dispose(): void;
}

/** Jobs that finished in a stretch of time, and how many enqueues began in it. */
interface Stretch {
  readonly finished: Map<string, Reply | undefined>;
  enqueues: number;
}

/** Of so many finished jobs is a stretch. */
const STRETCH = 1000;

/**
 * Which jobs finished while enqueues are under way: one memory for all of them, since theirs may be among these
 * before its id is known. What finished before the oldest of them began is forgotten, a stretch at a time.
 */
export class FinishedJobs {
  private readonly stretches: Stretch[] = [];
  private gaps = 0;

  /** Remembers until it is disposed of. */
  expect(): Expectation {
    const { gaps } = this;
    const from = this.stretches.at(-1) ?? this.begin();
    from.enqueues += 1;
    const hasGaps = () => this.gaps !== gaps;
    return {
      of: (id) => this.since(from, id),
      get hasGaps() {
        return hasGaps();
      },
      dispose: () => {
        from.enqueues -= 1;
        while (this.stretches[0]?.enqueues === 0) this.stretches.shift();
      },
    };
  }

  /** A job has finished; a reply goes before the message that says no more. */
  add(id: string, reply?: Reply): void {
    const last = this.stretches.at(-1);
    if (!last) return;
    const { finished } = last.finished.size < STRETCH ? last : this.begin();
    if (reply || !finished.has(id)) finished.set(id, reply);
  }

  /** Messages may have been lost. */
  addGap(): void {
    this.gaps += 1;
  }

  /** How many finished jobs are remembered. */
  get size(): number {
    return this.stretches.reduce((sum, { finished }) => sum + finished.size, 0);
  }

  private begin(): Stretch {
    const stretch: Stretch = { finished: new Map(), enqueues: 0 };
    this.stretches.push(stretch);
    return stretch;
  }

  private since(from: Stretch, id: string): { reply?: Reply | undefined } | undefined {
    const held = this.stretches
      .slice(this.stretches.indexOf(from))
      .filter(({ finished }) => finished.has(id));
    if (held.length === 0) return undefined;
    return { reply: held.map(({ finished }) => finished.get(id)).find((reply) => reply !== undefined) };
  }
}
