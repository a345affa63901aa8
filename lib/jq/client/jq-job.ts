import { recordsOf } from '../../job/show-as.js';
import { defined } from '../../job/defined.js';
import { read, type Codec } from '../../job/codec.js';
import { messagePack } from '../message-pack/codec.js';
import type { Raw } from '../message-pack/raw.js';
import { toRaw } from '../message-pack/unpack.js';
import { Fields, MAX_INT32 } from '../wire/fields.js';

/** The states of a job, in the words of the protocol. */
export type JqStatus = 'queued' | 'running' | 'retrying' | 'error' | 'done';

/** A job as the master has it. */
export interface JqJob<Output = unknown> {
  readonly id: string;
  readonly status: JqStatus;
  /** The worker that runs it, or ran it last. */
  readonly workerId?: string;
  /** How often it was begun again. */
  readonly retryCount: number;
  /** The last failure, for people. */
  readonly message?: string;
  /** The last failure, for programs. */
  readonly error?: unknown;
  /** The result of a job that is done; null also if it was not kept, or was dropped since. */
  readonly result?: Output;
  /** Result and error as the worker wrote them, byte for byte. */
  readonly raw: { readonly result?: Uint8Array; readonly error?: Uint8Array };
}

const STATUSES: ReadonlySet<string> = new Set(['queued', 'running', 'retrying', 'error', 'done']);
/** The master has checked the depth already. */
const MAX_DEPTH = 1000;

const asJob = recordsOf<JqJob>('JqJob');

/** @throws MalformedMessageError, InvalidFieldError, UnreadablePayloadError */
export function readJob(id: string, fn: string, codec: Codec, body: Buffer): JqJob {
  const fields = Fields.of(toRaw(body, MAX_DEPTH));
  const [workerId, message] = [fields.optionalText('worker_id'), fields.optionalText('message')];
  const [result, error] = [fields.raw('result'), fields.raw('error')];
  return asJob(
    defined({
      id,
      status: readStatus(fields),
      retryCount: fields.integer('retry_count', { default: 0, min: 0, max: MAX_INT32 }),
      workerId,
      message,
      result: result && valueOf(result, codec, fn),
      error: error && valueOf(error, messagePack, fn),
      raw: defined({ result: result?.bytes, error: error?.bytes }),
    }),
  );
}

export function readJobId(body: Buffer): string {
  return Fields.of(toRaw(body, MAX_DEPTH)).text('job_id');
}

/** Whether nothing more will happen to it. */
export function hasEnded({ status }: JqJob): boolean {
  return status === 'done' || status === 'error';
}

function readStatus(fields: Fields): JqStatus {
  const status = fields.text('status');
  return STATUSES.has(status) ? (status as JqStatus) : fields.fail('status', 'a status of the contract');
}

function valueOf(raw: Raw, codec: Codec, fn: string): unknown {
  return read(codec, fn, 'output', raw.bytes);
}
