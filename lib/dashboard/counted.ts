import type { GearMonkeyClient } from '../gearmonkey/client/client.js';
import type { QueueOverview } from '../job/job-views.js';
import type { JobSource } from '../job/job-source.js';

/** How long an answer that has all queues at once stands for questions about some of them. */
const FRESH_MS = 1000;

/** An instance whose queues can be counted. */
export interface Counted {
  readonly i: string;
  functions(): Promise<readonly string[]>;
  overviewOf(names: readonly string[]): Promise<readonly QueueOverview[]>;
}

export function countedByClient(i: string, client: GearMonkeyClient): Counted {
  return { i, functions: () => client.functions(), overviewOf: (names) => client.overviewOf(names) };
}

/** Of systems that answer for all of their queues at once. */
export class CountedBySource implements Counted {
  #read: { readonly at: number; readonly answer: Promise<readonly QueueOverview[]> } | undefined;

  constructor(
    readonly i: string,
    private readonly source: Required<Pick<JobSource, 'overview'>>,
  ) {}

  async functions(): Promise<readonly string[]> {
    return (await this.all()).map(({ fn }) => fn);
  }

  async overviewOf(names: readonly string[]): Promise<readonly QueueOverview[]> {
    const wanted = new Set(names);
    return (await this.all()).filter(({ fn }) => wanted.has(fn));
  }

  private all(): Promise<readonly QueueOverview[]> {
    const now = performance.now();
    if (!this.#read || now - this.#read.at > FRESH_MS)
      this.#read = { at: now, answer: this.source.overview() };
    return this.#read.answer;
  }
}
