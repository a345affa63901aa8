import { readFileSync } from 'node:fs';
import BeeQueue from 'bee-queue';

const QUEUE = 'bench';
const STALL_CHECK_MS = 5000;

export const name = 'bee-queue';
export const version = JSON.parse(
  readFileSync(new URL('../node_modules/bee-queue/package.json', import.meta.url)),
).version;

/** With its defaults, and the check for stalled jobs that its documentation wants in production. */
export async function open(url) {
  const queue = new BeeQueue(QUEUE, { redis: { url }, isWorker: false });
  await queue.ready();
  return {
    enqueue: (input) => queue.createJob(input).save(),
    enqueueBulk: async (inputs) => {
      const errors = await queue.saveAll(inputs.map((input) => queue.createJob(input)));
      if (errors.size > 0) throw [...errors.values()][0];
    },
    call: (input) =>
      new Promise((resolve, reject) => {
        const job = queue.createJob(input);
        job.on('succeeded', resolve).on('failed', reject).save().catch(reject);
      }),
    work: async (concurrency, handler) => {
      const worker = new BeeQueue(QUEUE, { redis: { url }, getEvents: false });
      await worker.ready();
      await worker.checkStalledJobs(STALL_CHECK_MS);
      worker.process(concurrency, async (job) => handler(job.data));
      return () => worker.close();
    },
    close: () => queue.close(),
  };
}
