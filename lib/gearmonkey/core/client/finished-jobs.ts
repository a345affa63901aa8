import type { JobKey } from '../wire/protocol.js';

/** An output that was sent, and the mark of its job. */
export interface Reply {
  readonly job: JobKey;
  readonly output: string;
}

/** What an enqueue can ask once its job's id is known. */
export interface Expectation {
  /** Defined if a job with this id has finished meanwhile, with its output if that was sent. */
  of(id: string): { readonly reply?: Reply | undefined } | undefined;
  /** Whether messages may have been missed meanwhile. */
  readonly hasGaps: boolean;
  dispose(): void;
}

/** Jobs that finished one after the other, and how many enqueues began meanwhile. */
interface Stretch {
  readonly finished: Map<string, Reply | undefined>;
  enqueues: number;
}

/** How many finished jobs make a stretch. */
const STRETCH = 1000;

/**
 * Remembers which jobs finished while enqueues are under way, because a job may finish before its enqueue knows its id.
 * All enqueues share this memory. Jobs that finished before the oldest of them began are forgotten, a stretch at a time.
 */
export class FinishedJobs {
  private readonly stretches: Stretch[] = [];
  private gaps = 0;

  /** Begins to remember, until the expectation is disposed of. */
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

  /** Records a finished job; a reply comes before the plain message. */
  add(id: string, reply?: Reply): void {
    const last = this.stretches.at(-1);
    if (!last) return;
    const { finished } = last.finished.size < STRETCH ? last : this.begin();
    if (reply || !finished.has(id)) finished.set(id, reply);
  }

  /** Records that messages may have been lost. */
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
