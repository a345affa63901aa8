import { withDeadline } from '../job/deadline.js';
import type { FunctionOverview } from '../job/job-views.js';
import type { GearMonkeyInstance } from './gearmonkey.instance.js';

/** What metrics and health read of a function's queues. */
export type QueueOverview = Omit<FunctionOverview, 'limitsFull' | 'paused'>;

/** A client whose server can tell of all its functions in one question. */
interface OverviewClient {
  readonly schedules: unknown;
  overview?(): Promise<readonly QueueOverview[]>;
}

/**
 * The queues of an instance; undefined if its system has no such question.
 *
 * @throws Error after `timeout` milliseconds, and what the question throws
 */
export async function overviewsOf(
  instance: GearMonkeyInstance,
  timeout: number,
): Promise<readonly QueueOverview[] | undefined> {
  const client: OverviewClient | undefined = instance.client;
  const asked = client?.overview?.();
  return asked && withDeadline(asked, timeout, () => new Error(`no answer within ${timeout} ms`));
}

/** How many jobs wait, of all priorities. */
export function waitingOf({ waiting: { high, normal, low } }: QueueOverview): number {
  return high + normal + low;
}
