/** A program of its own: a worker that says what happens to its jobs. */
import { codecOf } from '../../lib/job/codec.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { RedisSource } from '../../lib/gearmonkey/redis-source.js';
import { ChannelHub } from '../../lib/redis/channel-hub.js';
import { toPlainConnection } from '../../lib/redis/plain-connection.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { bindHandler } from '../../lib/worker/job-handler.js';
import { JobWorker } from '../../lib/worker/job-worker.js';
import type { RunningJob } from '../../lib/worker/running-job.js';

export interface WorkerProgramOptions {
  readonly url: string;
  readonly fn: string;
  /** Which it runs as well, one job at a time. */
  readonly other?: string;
  readonly lease?: number;
  readonly presence?: number;
  readonly concurrency?: number;
}

/** What its jobs ask for. */
interface Input {
  /** Milliseconds to hold the event loop. */
  readonly block?: number;
  /** Wait for a line on stdin. */
  readonly hold?: boolean;
  /** End the process after so many milliseconds. */
  readonly exit?: number;
  /** Wait for so many milliseconds. */
  readonly work?: number;
}

const {
  url,
  fn,
  other,
  concurrency = 1,
  ...times
} = JSON.parse(process.argv[2] as string) as WorkerProgramOptions;

const say = (event: string, details: object = {}) =>
  process.stdout.write(`${JSON.stringify({ event, ...details })}\n`);

async function handle(input: unknown, job: RunningJob): Promise<string> {
  const { block = 0, hold = false, exit, work } = input as Input;
  const { signal, id, attempts } = job;
  say('start', { id, attempts });
  signal.addEventListener('abort', () =>
    say('aborted', { id, code: (signal.reason as { code: string }).code }),
  );
  const end = performance.now() + block;
  while (performance.now() < end);
  if (exit !== undefined) setTimeout(() => process.exit(1), exit);
  if (exit !== undefined || work !== undefined)
    await new Promise((resolve) => setTimeout(resolve, work ?? 60_000));
  if (hold) await new Promise((resolve) => process.stdin.once('data', resolve));
  say('end', { id });
  return 'of the program';
}

const source = new RedisSource(
  {
    commands: new RedisConnection(url, 'commands'),
    blocking: new RedisConnection(url, 'blocking'),
    hub: new ChannelHub(new RedisConnection(url, 'subscriber')),
    ...toPlainConnection(url, 'keeper'),
  },
  { ...times, onProblem: (message) => say('problem', { message }) },
);
const log = {
  warn: (message: string) => void say('logged', { message }),
  error: (message: string) => void say('logged', { message }),
};
const bindings = [bindHandler(defineJob(fn), { concurrency }, handle)];
if (other !== undefined) bindings.push(bindHandler(defineJob(other), {}, handle));
const worker = new JobWorker(source, bindings, {
  codec: codecOf('json'),
  maxPayloadBytes: 1000,
  log,
});
await worker.start();
say('ready');
