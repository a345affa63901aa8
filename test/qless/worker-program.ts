/** A program of its own: a qless worker of the klass `Held` that says what happens to its jobs. */
import { codecOf } from '../../lib/job/codec.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { qless } from '../../lib/qless/index.js';
import { bindHandler } from '../../lib/worker/job-handler.js';
import { JobWorker } from '../../lib/worker/job-worker.js';
import type { RunningJob } from '../../lib/worker/running-job.js';

export interface WorkerProgramOptions {
  readonly url: string;
  readonly queue: string;
}

/** What its jobs ask for. */
interface Input {
  /** Milliseconds to hold the event loop. */
  readonly block?: number;
}

const { url, queue } = JSON.parse(process.argv[2] as string) as WorkerProgramOptions;

const say = (event: string, details: object = {}) =>
  process.stdout.write(`${JSON.stringify({ event, ...details })}\n`);

async function handle(input: unknown, { id, signal }: RunningJob): Promise<string> {
  say('start', { id });
  const { block } = input as Input;
  if (block === undefined) return new Promise((_, reject) => signal.addEventListener('abort', reject));
  const end = performance.now() + block;
  while (performance.now() < end);
  return 'blocked';
}

const log = {
  warn: (message: string) => void say('logged', { message }),
  error: (message: string) => void say('logged', { message }),
};
const source = qless({ connection: url, queues: [queue] });
const worker = new JobWorker(source, [bindHandler(defineJob('Held'), {}, handle)], {
  codec: codecOf('json'),
  maxPayloadBytes: 1000,
  log,
});
await worker.start();
say('ready');
