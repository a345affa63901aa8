import { isUtf8 } from 'node:buffer';
import { bytesOf, type Payload } from './codec.js';

/** Largest output of a step, unless the module sets `maxStepBytes`. */
export const DEFAULT_MAX_STEP_BYTES = 256 * 1024;
/** Most steps of a job. */
export const MAX_STEPS = 1000;
/** Longest name of a step, in characters. */
export const MAX_STEP_NAME = 100;

/** The field that lists a job's steps. */
export const STEPS_FIELD = 'steps';
const STEP_PREFIX = 'step:';
const CURSOR_PREFIX = 'cursor:';
const MAX_LIST_BYTES = 1_000_000;

/** A step of a job that has ended. */
export interface RecordedStep {
  readonly name: string;
  readonly started: Date;
  readonly finished: Date;
  /** The length of its output. */
  readonly bytes: number;
}

/** Which run of a job records something. */
export interface RecordingJob {
  readonly fn: string;
  readonly id: string;
  /** That of its claim. */
  readonly token: number;
}

/** Where a source keeps the steps of jobs while they run. */
export interface StepRecords {
  /** These fields of a job, as far as it has them. */
  read(claim: RecordingJob, fields: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>>;
  /** The time of the server, in ms since 1970: deadlines that a job records are read by other hosts, whose clocks may differ. */
  now(claim: RecordingJob): Promise<number>;
  /** Sets fields and removes others, if the claim is held. Returns whether it was. */
  write(
    claim: RecordingJob,
    fields: ReadonlyMap<string, Payload>,
    removed: readonly string[],
  ): Promise<boolean>;
}

/** The steps of a job in the order in which its handler called them, and the version of that order. */
export interface StepList {
  readonly version: string;
  readonly names: readonly string[];
}

/** A step as it is stored. */
export interface StoredStep {
  readonly started: number;
  readonly finished: number;
  readonly output: Uint8Array;
}

/** The field of a step. */
export function stepField(name: string): string {
  return STEP_PREFIX + name;
}

/** The field of a cursor. */
export function cursorField(name: string): string {
  return CURSOR_PREFIX + name;
}

export function writeStepList({ version, names }: StepList): string {
  return JSON.stringify({ ...(version !== '' && { version }), names });
}

/** Undefined for what is no list of ours. */
export function readStepList(bytes: Uint8Array | undefined): StepList | undefined {
  if (!bytes || bytes.byteLength > MAX_LIST_BYTES || !isUtf8(bytes)) return undefined;
  try {
    const { version = '', names } = JSON.parse(Buffer.from(bytes).toString()) as Partial<StepList>;
    const isList = Array.isArray(names) && names.length <= MAX_STEPS && names.every(isStepName);
    return isList && typeof version === 'string' ? { version, names } : undefined;
  } catch {
    return undefined;
  }
}

/** `{STARTED}:{FINISHED}:`, and the bytes of the output. */
export function writeStep(started: number, finished: number, output: Payload): Uint8Array {
  return Buffer.concat([Buffer.from(`${started}:${finished}:`), bytesOf(output)]);
}

/** Undefined for what is no step of ours. */
export function readStep(bytes: Uint8Array | undefined): StoredStep | undefined {
  if (!bytes) return undefined;
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const head = /^(\d{1,15}):(\d{1,15}):/.exec(all.toString('latin1', 0, 32));
  if (!head) return undefined;
  return { started: Number(head[1]), finished: Number(head[2]), output: all.subarray(head[0].length) };
}

/** Whether text can be a step's name. */
export function isStepName(name: unknown): name is string {
  return typeof name === 'string' && name.length > 0 && name.length <= MAX_STEP_NAME && name.isWellFormed();
}
