import { afterEach } from '@jest/globals';
import { codecOf, type CodecName } from '../../lib/job/codec.js';
import { defineJob, type AnyJobDefinition } from '../../lib/job/job-definition.js';
import type { JobSource } from '../../lib/job/job-source.js';
import { bindHandler, type HandlerOptions, type JobHandler } from '../../lib/worker/job-handler.js';
import type { RunMiddleware } from '../../lib/worker/run-middleware.js';
import { JobWorker } from '../../lib/worker/job-worker.js';

export interface WorkerSettings extends HandlerOptions {
  codec?: CodecName;
  maxPayloadBytes?: number;
  middleware?: readonly RunMiddleware[];
}

export interface RanWorker {
  readonly worker: JobWorker;
  /** What it said to its log. */
  readonly said: string[];
}

const running = new Set<JobWorker>();

/** A started worker with one handler; `stopWorkers` ends it. */
export async function runWorker(
  source: JobSource,
  function_: string | AnyJobDefinition,
  handle: JobHandler,
  { codec = 'json', maxPayloadBytes = 1024 * 1024, middleware, ...options }: WorkerSettings = {},
): Promise<RanWorker> {
  const definition = typeof function_ === 'string' ? defineJob(function_) : function_;
  const binding = bindHandler(definition, options, handle);
  const said: string[] = [];
  const log = {
    warn: (message: string) => said.push(message),
    error: (message: string) => said.push(message),
  };
  const worker = new JobWorker(source, [binding], {
    codec: codecOf(codec),
    maxPayloadBytes,
    middleware,
    log,
  });
  running.add(worker);
  await worker.start();
  return { worker, said };
}

/** Ends all that `runWorker` started; jobs that still run are given back. */
export async function stopWorkers(): Promise<void> {
  const workers = [...running];
  running.clear();
  await Promise.all(workers.map((worker) => worker.stop(0)));
}

/** For a `describe`: ends its workers after each test. */
export function stopWorkersAfterEach(): void {
  afterEach(stopWorkers);
}
