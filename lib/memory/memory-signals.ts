import type { Payload } from '../job/codec.js';
import {
  joinSignals,
  signalField,
  splitSignals,
  WAITS_FIELD,
  writeSignal,
  type Signalled,
} from '../job/signals.js';
import type { MemoryJobs } from './memory-jobs.js';
import type { WaitingJobs } from './waiting-jobs.js';

interface Waiting {
  readonly jobs: MemoryJobs;
  readonly waiting: WaitingJobs;
  wake(): void;
}

/** Gives a job a signal, as `signal.lua` does. */
export function signalJob(of: Waiting, id: string, name: string, data: Payload, now: number): Signalled {
  const { jobs, waiting } = of;
  if (!jobs.has(id)) return 'missing';
  if (jobs.isFinal(id)) return 'finished';
  if (jobs.bytes(id, signalField(name))) return 'known';
  jobs.set(id, { [signalField(name)]: writeSignal(now, data) });
  if (jobs.text(id, 'status') !== 'idle' || !splitSignals(jobs.text(id, WAITS_FIELD)).includes(name))
    return 'signalled';
  jobs.set(id, { due: now });
  waiting.runLater(id, now, now);
  of.wake();
  return 'signalled';
}

/** When a job that waits for signals runs at the latest: now if it has one of them already. */
export function waitOfSignals(
  { jobs }: Pick<Waiting, 'jobs'>,
  id: string,
  names: readonly string[],
  delay: number,
): number {
  if (names.length === 0) jobs.clear(id, [WAITS_FIELD]);
  else jobs.set(id, { [WAITS_FIELD]: joinSignals(names) });
  return names.some((name) => jobs.bytes(id, signalField(name))) ? 0 : delay;
}
