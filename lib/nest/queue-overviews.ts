import { withDeadline } from '../job/clock.js';
import type { QueueOverview } from '../job/job-views.js';
import type { GearMonkeyInstance } from './gearmonkey.instance.js';

/**
 * The queues of an instance; undefined if its system has no such question.
 *
 * @throws Error after `timeout` milliseconds, and what the question throws
 */
export async function overviewsOf(
  { client, source }: GearMonkeyInstance,
  timeout: number,
): Promise<readonly QueueOverview[] | undefined> {
  const asked: Promise<readonly QueueOverview[]> | undefined =
    client?.overview() ?? source.monitor?.overview?.();
  return asked && withDeadline(asked, timeout, () => new Error(`no answer within ${timeout} ms`));
}

/** How many jobs wait, of all priorities. */
export function waitingOf({ waiting: { high, normal, low } }: QueueOverview): number {
  return high + normal + low;
}
