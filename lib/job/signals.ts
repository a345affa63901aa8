import { isStepName } from './steps.js';

const SIGNAL_PREFIX = 'signal:';
const WAIT_PREFIX = 'wait:';
const OVER = ':over';

/** The field that names the signals a job waits for: the first one of them wakes it. */
export const WAITS_FIELD = 'waits';
/** Names have none. */
const BETWEEN_NAMES = ':';
/** Most signals that a job waits for at once. */
export const MAX_SIGNALS_AT_ONCE = 20;

/** What became of a signal: the job has it now, had it before, has ended, is unknown, or another has its id. */
export type Signalled = 'signalled' | 'known' | 'finished' | 'missing' | 'lost';

/** How long a job waits for a signal. */
export interface Wait {
  /** When it is up, in ms since 1970. */
  readonly deadline: number;
  /** Whether the job went on without the signal, which is final. */
  readonly isOver: boolean;
}

/** Whether text can be a signal's name: plain clients write it in front of a colon. */
export function isSignalName(name: unknown): name is string {
  return isStepName(name) && !name.includes(':');
}

/** The field of a signal that has come. */
export function signalField(name: string): string {
  return SIGNAL_PREFIX + name;
}

/** The field of a wait for a signal. */
export function waitField(name: string): string {
  return WAIT_PREFIX + name;
}

/** The names of signals as `waits` has them. */
export function joinSignals(names: readonly string[]): string {
  return names.join(BETWEEN_NAMES);
}

export function splitSignals(text: string): readonly string[] {
  return text === '' ? [] : text.split(BETWEEN_NAMES);
}

/** Signals as messages name them: `the signal "a"`, `one of the signals "a", "b"`. */
export function signalWords(names: readonly string[]): string {
  const quoted = names.map((name) => `"${name}"`).join(', ');
  return names.length === 1 ? `the signal ${quoted}` : `one of the signals ${quoted}`;
}

/** When a signal came, in ms since 1970, and its data, stored as `{TIME}:` and the bytes of the data. Undefined for what is none of ours. */
export function readSignal(bytes: Uint8Array | undefined): { time: number; data: Uint8Array } | undefined {
  if (!bytes) return undefined;
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [head = '', time] = /^(\d{1,15}):/.exec(all.toString('latin1', 0, 16)) ?? [];
  return time === undefined ? undefined : { time: Number(time), data: all.subarray(head.length) };
}

export function writeWait({ deadline, isOver }: Wait): string {
  return `${deadline}${isOver ? OVER : ''}`;
}

/** Undefined for what is none of ours. */
export function readWait(bytes: Uint8Array | undefined): Wait | undefined {
  const [, deadline, over] =
    /^(\d{1,15})(:over)?$/.exec(bytes ? Buffer.from(bytes).toString('latin1') : '') ?? [];
  return deadline === undefined ? undefined : { deadline: Number(deadline), isOver: over !== undefined };
}
