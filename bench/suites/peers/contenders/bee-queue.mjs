import BeeQueue from 'bee-queue';

const QUEUE = 'bench';
const STALL_CHECK_MS = 5000;

/**
 * bee-queue as its documentation recommends for separate producers and workers: workers send events, and producers
 * receive them only if they await results. The worker starts the check for stalled jobs, without which none are recovered.
 */
export async function open(url, { results, events }) {
  const redis = { url };
  const queue = new BeeQueue(QUEUE, { redis, isWorker: false, getEvents: results, storeJobs: results });
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
      const worker = new BeeQueue(QUEUE, { redis, getEvents: false, sendEvents: events, storeJobs: false });
      await worker.ready();
      await worker.checkStalledJobs(STALL_CHECK_MS);
      worker.process(concurrency, async (job) => handler(job.data));
      return () => worker.close();
    },
    close: () => queue.close(),
  };
}
