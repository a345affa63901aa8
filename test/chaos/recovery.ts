import { keyOf, type End, type Start } from './history.js';
import type { Injected } from './faults.js';

/** How long things took, in ms. */
export interface Spread {
  readonly count: number;
  readonly median: number;
  readonly max: number;
}

/** A job that lost its worker. */
export interface Recovery {
  readonly fn: string;
  /** From the worker's SIGKILL to the job's next start. */
  readonly ms: number;
}

/** Of each job that a killed worker was running. */
export function recoveriesOf(
  injected: readonly Injected[],
  starts: readonly Start[],
  ends: readonly End[],
): Recovery[] {
  const ended = new Set(ends.map((end) => `${keyOf(end)}:${end.token}`));
  const byJob = new Map<string, Start[]>();
  for (const start of starts) byJob.set(keyOf(start), [...(byJob.get(keyOf(start)) ?? []), start]);
  const killed = new Map(
    injected.filter(({ kind }) => kind === 'kill-worker').map(({ process, began }) => [process, began]),
  );
  return starts.flatMap((start) => {
    const at = killed.get(start.process);
    if (at === undefined || ended.has(`${keyOf(start)}:${start.token}`)) return [];
    const next = byJob.get(keyOf(start))?.filter(({ token }) => token > start.token) ?? [];
    const ms = Math.min(...next.map((again) => again.at)) - at;
    // A run that had timed out was settled before the SIGKILL, though its handler went on.
    return next.length === 0 || ms < 0 ? [] : [{ fn: start.fn, ms }];
  });
}

/** From the return of a killed server to the next start of any job. */
export function resumeTimes(injected: readonly Injected[], starts: readonly Start[]): number[] {
  const times = starts.map(({ at }) => at).sort((a, b) => a - b);
  return injected.flatMap(({ kind, ended }) => {
    const next = kind === 'kill-redis' ? times.find((at) => at >= ended) : undefined;
    return next === undefined ? [] : [next - ended];
  });
}

export function spreadOf(times: readonly number[]): Spread {
  const sorted = [...times].sort((a, b) => a - b);
  return {
    count: sorted.length,
    median: sorted[Math.floor(sorted.length / 2)] ?? 0,
    max: sorted.at(-1) ?? 0,
  };
}
