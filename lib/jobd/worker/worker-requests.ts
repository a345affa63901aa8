import { RequestError } from '../vocabulary/errors.js';
import type { DaemonOperations } from '../vocabulary/operations.js';
import { checkFields, type FieldRule } from '../protocol/fields.js';
import { toManualReply, type ManualReply } from '../protocol/job-results.js';
import { toHandlers, type RequestArguments, type RequestHandlers } from '../protocol/request-handlers.js';
import { MAX_TARGET_LENGTH, readOptionalTargets } from '../protocol/target-lists.js';

const OK = 'ok';

/** A worker's requests, as the protocol lists them. */
export function workerRequests(daemon: DaemonOperations): RequestHandlers {
  const ok = (_done: void) => OK;
  return toHandlers({
    poll: (args) => ok(daemon.poll(readOptionalTargets(args))),
    pause: (args) => ok(daemon.pause(readOptionalTargets(args))),
    continue: (args) => ok(daemon.continue(readOptionalTargets(args))),
    status: () => daemon.status(),
    'add-target': (args) => ok(daemon.addTarget(...readTargetAndConcurrency(args))),
    'remove-target': (args) => ok(daemon.removeTarget(readTarget(args))),
    'set-target-concurrency': (args) => ok(daemon.setTargetConcurrency(...readTargetAndConcurrency(args))),
    'run-manual': (args) => runManual(daemon, readIds(args)),
    'send-signal': (args) => Object.fromEntries(sendSignals(daemon, readSignals(args))),
  });
}

const TARGET: FieldRule = { name: 'target', types: ['string'], required: true };
const CONCURRENCY: FieldRule = { name: 'concurrency', types: ['integer'], required: true };

function readTarget(args: RequestArguments): string {
  const { target } = checkFields(args, [TARGET]) as { target: string };
  return target;
}

function readTargetAndConcurrency(args: RequestArguments): [target: string, concurrency: number] {
  const fields = checkFields(args, [TARGET, CONCURRENCY]) as { target: string; concurrency: number };
  if (fields.target === '' || fields.target.length > MAX_TARGET_LENGTH) {
    throw new RequestError(`'target' must have 1 to ${MAX_TARGET_LENGTH} characters`);
  }
  return [fields.target, fields.concurrency];
}

function readIds({ ids }: RequestArguments): readonly number[] {
  if (!Array.isArray(ids)) throw new RequestError('ids must be array');
  if (ids.length === 0) throw new RequestError('ids are empty');
  for (const id of ids as readonly unknown[]) {
    if (typeof id !== 'number') throw new RequestError(`all ids must be numbers, got ${typeof id}`);
    if (!Number.isSafeInteger(id)) throw new RequestError(`all ids must be integers, got ${id}`);
  }
  return [...new Set(ids as readonly number[])];
}

async function runManual(daemon: DaemonOperations, ids: readonly number[]): Promise<ManualReply> {
  const { jobs, errors } = await daemon.runManual(ids);
  return toManualReply(jobs, errors);
}

function readSignals({ jobs }: RequestArguments): readonly (readonly [string, unknown])[] {
  if (jobs === undefined) return [];
  if (typeof jobs !== 'object' || jobs === null) throw new RequestError("'jobs' must be object");
  return Object.entries(jobs);
}

/** Malformed ids and signals count as not delivered, as for jobs that don't run. */
function sendSignals(
  daemon: DaemonOperations,
  asked: readonly (readonly [string, unknown])[],
): [string, boolean][] {
  const possible = asked.flatMap(([id, signal]) =>
    /^\d{1,16}$/.test(id) && (typeof signal === 'string' || Number.isInteger(signal))
      ? [[Number(id), signal as string | number] as const]
      : [],
  );
  const delivered = daemon.sendSignal(new Map(possible));
  return asked.map(([id]) => [id, delivered.get(Number(id)) ?? false]);
}
