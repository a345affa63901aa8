import { inspect } from 'node:util';

/** What pushers and workers have seen with their own eyes. */
export type Event =
  | { readonly type: 'registered'; readonly worker: string }
  | { readonly type: 'accepted'; readonly key: string; readonly job: string }
  | ({ readonly type: 'begun' | 'ran'; readonly at?: number } & Run)
  | ({ readonly type: 'reported'; readonly status: number } & Run)
  | { readonly type: 'ended'; readonly job: string; readonly status: string; readonly result: unknown };

export interface Run {
  readonly job: string;
  readonly attempt: number;
  readonly worker: string;
  /** Of this run alone: the result that it reports. */
  readonly nonce: string;
}

const TAKEN = 204;

/** What is wrong with a history: nothing, if no job was lost, made twice, or ended with two results. */
export function faultsOf(history: readonly Event[]): string[] {
  const jobs = new Map<string, string>();
  const faults: string[] = [];
  for (const event of history) {
    if (event.type !== 'accepted') continue;
    const known = jobs.get(event.key);
    if (known !== undefined && known !== event.job)
      faults.push(`${event.key}: two jobs, ${known} and ${event.job}`);
    jobs.set(event.key, event.job);
  }
  for (const job of new Set(jobs.values())) faults.push(...faultsOfJob(job, history));
  const accepted = new Set(jobs.values());
  const unknown = history.filter((event) => event.type === 'begun' && !accepted.has(event.job));
  for (const event of unknown) faults.push(`${'job' in event ? event.job : ''}: it was never enqueued`);
  return faults;
}

/**
 * Jobs that ran more than once though every reply about them arrived.
 *
 * @param excused of which a reply was lost, or a worker or a master was killed
 */
export function rerunsOf(history: readonly Event[], excused: ReadonlySet<string>): string[] {
  const runs = new Map<string, Set<string>>();
  for (const event of history) {
    if (event.type === 'begun') runs.set(event.job, (runs.get(event.job) ?? new Set()).add(event.nonce));
  }
  return [...runs]
    .filter(([job, { size }]) => size > 1 && !excused.has(job))
    .map(([job, { size }]) => `${job}: run ${size} times`);
}

/** The most runs at a time. When the runs of a killed worker ended is unknown. */
export function mostAtOnce(history: readonly Event[]): number {
  const ended = new Set(history.flatMap((event) => (event.type === 'ran' ? [event.nonce] : [])));
  const steps = history
    .flatMap((event) => {
      if (event.type === 'begun' && ended.has(event.nonce)) return [{ at: event.at ?? 0, by: 1 }];
      return event.type === 'ran' ? [{ at: event.at ?? 0, by: -1 }] : [];
    })
    // Ends come before beginnings of the same millisecond: their order is unknown.
    .sort((one, other) => one.at - other.at || one.by - other.by);
  let [now, most] = [0, 0];
  for (const { by } of steps) {
    now += by;
    most = Math.max(most, now);
  }
  return most;
}

function faultsOfJob(job: string, history: readonly Event[]): string[] {
  const begun = new Set<string>();
  const taken = new Set<string>();
  const results = new Set<unknown>();
  for (const event of history) {
    if (!('job' in event) || event.job !== job) continue;
    if (event.type === 'begun') begun.add(event.nonce);
    if (event.type === 'reported' && event.status === TAKEN) taken.add(event.nonce);
    if (event.type === 'ended' && event.status === 'done') results.add(event.result);
  }
  const faults: string[] = [];
  if (results.size === 0) faults.push(`${job}: lost`);
  if (results.size > 1) faults.push(`${job}: ${results.size} results`);
  if (taken.size > 1) faults.push(`${job}: accepted of ${taken.size} runs`);
  for (const result of results) {
    if (typeof result !== 'string' || !begun.has(result))
      faults.push(`${job}: a result of no run, ${inspect(result)}`);
    else if (taken.size > 0 && !taken.has(result)) faults.push(`${job}: the accepted result was replaced`);
  }
  return faults;
}
