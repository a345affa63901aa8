import { Queue, QueueEvents, Worker } from 'bullmq';

const QUEUE = 'bench';

/** BullMQ with its defaults and its own connections, and QueueEvents only if results are awaited. */
export async function open(url, { results }) {
  const connection = { url };
  const queue = new Queue(QUEUE, { connection });
  await queue.waitUntilReady();
  const events = results ? new QueueEvents(QUEUE, { connection }) : undefined;
  await events?.waitUntilReady();
  return {
    enqueue: (input) => queue.add(QUEUE, input),
    enqueueBulk: (inputs) => queue.addBulk(inputs.map((data) => ({ name: QUEUE, data }))),
    call: async (input) => (await queue.add(QUEUE, input)).waitUntilFinished(events),
    work: async (concurrency, handler) => {
      const worker = new Worker(QUEUE, async (job) => handler(job.data), { connection, concurrency });
      await worker.waitUntilReady();
      return () => worker.close();
    },
    close: async () => {
      await events?.close();
      await queue.close();
    },
  };
}
