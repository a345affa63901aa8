import type { GearMonkeyClient } from '../gearmonkey/client.js';
import type { QueueOverview } from '../job/job-views.js';
import { askSystem } from './system-questions.js';
import { unknownAmong, type ReadOverview } from './unknown-functions.js';
import { unlessRefused } from './unless-refused.js';

/** An overview may cost a system a hundred questions: all pages share one. */
const FRESH_MS = 5000;
const MOST_QUEUES = 1000;

/** An instance whose queues can be counted. */
export interface Counted {
  readonly i: string;
  /** Whether one question answers for all queues. */
  readonly isWhole: boolean;
  functions(): Promise<readonly string[]>;
  overviewOf(names: readonly string[]): Promise<readonly ReadOverview[]>;
  /** Of these, the functions of which nothing is known. */
  unknownOf(found: readonly ReadOverview[]): Promise<readonly string[]>;
}

export function countedByClient(i: string, client: GearMonkeyClient): Counted {
  return {
    ...{ i, isWhole: false },
    functions: () => client.functions(),
    overviewOf: async (names) => (await Promise.all(names.map((fn) => overviewAt(client, fn)))).flat(),
    unknownOf: (found) => unknownAmong(client, found),
  };
}

/** One that can't be read counts nothing, and says why. */
function overviewAt(client: GearMonkeyClient, fn: string): Promise<readonly ReadOverview[]> {
  const waiting = { high: 0, normal: 0, low: 0 };
  return unlessRefused(client.overviewOf([fn]), (refused) => [{ fn, waiting, refused }]);
}

/** Of systems that answer for all of their queues at once: at most 1,000 in order of their names, up to 5 s old. */
export class CountedBySource implements Counted {
  readonly isWhole = true;
  #read: { readonly at: number; readonly answer: Promise<readonly QueueOverview[]> } | undefined;

  constructor(
    readonly i: string,
    private readonly overview: () => Promise<readonly QueueOverview[]>,
  ) {}

  async functions(): Promise<readonly string[]> {
    return (await this.all()).map(({ fn }) => fn);
  }

  async overviewOf(names: readonly string[]): Promise<readonly QueueOverview[]> {
    const wanted = new Set(names);
    return (await this.all()).filter(({ fn }) => wanted.has(fn));
  }

  /** A queue that the system does not count has no overview. */
  async unknownOf(): Promise<readonly string[]> {
    return [];
  }

  private all(): Promise<readonly QueueOverview[]> {
    const now = performance.now();
    if (this.#read && now - this.#read.at <= FRESH_MS) return this.#read.answer;
    const answer = askSystem(async () => firstOf(await this.overview()));
    // Those who ask get the error.
    answer.catch(() => undefined);
    this.#read = { at: now, answer };
    return answer;
  }
}

function firstOf(queues: readonly QueueOverview[]): QueueOverview[] {
  return queues.toSorted((one, other) => (one.fn < other.fn ? -1 : 1)).slice(0, MOST_QUEUES);
}
