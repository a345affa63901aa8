import BeeQueue from 'bee-queue';

const STALL_CHECK_MS = 5000;

/** Starts a worker of each queue. */
export async function start(url, names) {
  const queues = names.map(
    (name) => new BeeQueue(name, { redis: { url }, getEvents: false, storeJobs: false }),
  );
  await Promise.all(queues.map((queue) => queue.ready()));
  for (const queue of queues) {
    await queue.checkStalledJobs(STALL_CHECK_MS);
    queue.process(async () => true);
  }
  return () => Promise.all(queues.map((queue) => queue.close()));
}
