import { readFileSync } from 'node:fs';
import { Queue, QueueEvents, Worker } from 'bullmq';

const QUEUE = 'bench';

export const name = 'BullMQ';
export const version = JSON.parse(
  readFileSync(new URL('../node_modules/bullmq/package.json', import.meta.url)),
).version;

/** With its defaults: its own connections, finished jobs kept. */
export async function open(url) {
  const connection = { url };
  const queue = new Queue(QUEUE, { connection });
  await queue.waitUntilReady();
  let events;
  return {
    enqueue: (input) => queue.add(QUEUE, input),
    enqueueBulk: (inputs) => queue.addBulk(inputs.map((data) => ({ name: QUEUE, data }))),
    call: async (input) => {
      events ??= new QueueEvents(QUEUE, { connection });
      await events.waitUntilReady();
      return (await queue.add(QUEUE, input)).waitUntilFinished(events);
    },
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
