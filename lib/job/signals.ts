import { bytesOf, type Payload } from './codec.js';
import { isStepName } from './steps.js';

const SIGNAL_PREFIX = 'signal:';
const WAIT_PREFIX = 'wait:';
const OVER = ':over';

/** The field that names the signal a job waits for. */
export const WAITS_FIELD = 'waits';

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

/** `{TIME}:`, and the bytes of its data. */
export function writeSignal(time: number, data: Payload): Uint8Array {
  return Buffer.concat([Buffer.from(`${time}:`), bytesOf(data)]);
}

/** The data of a signal. Undefined for what is none of ours. */
export function readSignal(bytes: Uint8Array | undefined): Uint8Array | undefined {
  if (!bytes) return undefined;
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const head = /^\d{1,15}:/.exec(all.toString('latin1', 0, 16));
  return head ? all.subarray(head[0].length) : undefined;
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
