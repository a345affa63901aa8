import { Random } from './random.mjs';

/** What happens to a process. */
export const PROCESS_FAULTS = [
  'kill-worker',
  'stop-worker',
  'restart-worker',
  'restart-starting-worker',
  'kill-closing-worker',
  'failing-start',
  'kill-producer',
] as const;
/** What happens to the server, and to the way there. */
const SERVER_FAULTS = [
  'kill-redis',
  'client-kill',
  'client-pause',
  'script-flush',
  'latency',
  'cut',
  'partition-held',
  'partition-swallowed',
  'half-open',
  'hostile-client',
] as const;

export type FaultKind = (typeof PROCESS_FAULTS)[number] | (typeof SERVER_FAULTS)[number];
export const FAULT_KINDS: readonly FaultKind[] = [...PROCESS_FAULTS, ...SERVER_FAULTS];

/** One fault. Times in milliseconds, `at` since the load began. */
export interface Fault {
  readonly at: number;
  readonly kind: FaultKind;
  /** How long it lasts; for a killed process, until it is started again. */
  readonly lasts: number;
  /** Which process it hits; faults of the way hit all where it is 0. */
  readonly target: number;
}

export interface ScheduleOptions {
  readonly seed: number;
  /** Milliseconds in which faults begin. */
  readonly duration: number;
  /** Milliseconds of a lease: some faults last longer. */
  readonly lease: number;
  /** Milliseconds between faults at most. */
  readonly calm: number;
  readonly kinds?: readonly FaultKind[];
}

/** The faults of a seed, by their time: one track for processes, one for the server, which overlap. */
export function planFaults(options: ScheduleOptions): Fault[] {
  const { kinds = FAULT_KINDS, seed } = options;
  const track = (all: readonly FaultKind[], salt: number) =>
    planTrack(
      all.filter((kind) => kinds.includes(kind)),
      new Random(seed * 2 + salt),
      options,
    );
  return [...track(PROCESS_FAULTS, 0), ...track(SERVER_FAULTS, 1)].sort((a, b) => a.at - b.at);
}

/** One after the other; all kinds have had their turn before one returns. */
function planTrack(kinds: readonly FaultKind[], random: Random, options: ScheduleOptions): Fault[] {
  const faults: Fault[] = [];
  let bag: FaultKind[] = [];
  let at = random.int(500, 2000);
  while (kinds.length > 0 && at < options.duration) {
    if (bag.length === 0) bag = random.shuffle(kinds);
    const kind = bag.pop() as FaultKind;
    const lasts = lengthOf(kind, random, options.lease);
    faults.push({ at, kind, lasts, target: random.int(0, 11) });
    at += lasts + random.int(200, options.calm);
  }
  return faults;
}

function lengthOf(kind: FaultKind, random: Random, lease: number): number {
  switch (kind) {
    case 'stop-worker':
      return random.int(Math.round(lease * 1.2), lease * 2);
    case 'partition-held':
    case 'partition-swallowed':
    case 'half-open':
      return random.int(1000, Math.max(2500, Math.round(lease * 1.5)));
    case 'restart-starting-worker':
    case 'kill-closing-worker':
      return random.int(0, 2000);
    case 'client-pause':
      return random.int(200, 2500);
    case 'latency':
      return random.int(1000, 4000);
    case 'script-flush':
    case 'client-kill':
    case 'cut':
      return 0;
    default:
      return random.int(100, 1500);
  }
}

export function toLine({ at, kind, lasts, target }: Fault): string {
  return `${(at / 1000).toFixed(1).padStart(7)} s  ${kind} of ${target} for ${lasts} ms`;
}
