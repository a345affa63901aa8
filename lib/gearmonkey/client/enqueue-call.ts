import type { Payload } from '../../job/codec.js';
import { OWN_OPTIONS } from '../wire/job-options.js';
import { MAX_BATCH, MAX_BATCH_SIZE } from './enqueue-parts.js';
import type { Placement } from './job-store.js';

/** One call of the script, which creates jobs of one function and queue. */
export interface Call {
  readonly fn: string;
  readonly placement: Pick<Placement, 'queue' | 'score' | 'delay'>;
  /** The mark of all its jobs. */
  readonly mark: number;
  readonly inputs: Payload[];
  /** The options of each job as JSON, or ''. */
  readonly options: string[];
  /** Most jobs that it takes if they are enqueued one by one. */
  readonly most: number;
  size: number;
  /** When it fails, by `performance.now()`. */
  readonly until: number;
  /** Ids that the server has acknowledged; replicas may not have the jobs yet. */
  created?: string[];
}

/** A call that takes more jobs until it is sent. */
export interface Batch extends Call {
  readonly ids: Promise<readonly string[]>;
}

/** Options are sent once if all jobs have the same. */
export function jobArguments({ inputs, options }: Call): [shared: string, jobs: Payload[]] {
  const [shared = ''] = options;
  if (options.every((own) => own === shared)) return [shared, [...inputs]];
  return [OWN_OPTIONS, inputs.flatMap((input, index) => [input, options[index] ?? ''])];
}

/** Whether these jobs need another call. */
export function isFull({ inputs, size, most: joined }: Call, more: readonly Payload[]): boolean {
  const most = more.length === 1 ? joined : MAX_BATCH;
  return inputs.length + more.length > most || size > MAX_BATCH_SIZE;
}

export function sizeOf(inputs: readonly Payload[]): number {
  return inputs.reduce((size, { length }) => size + length, 0);
}
