import { Worker } from 'bullmq';

/** Starts a worker of each queue. */
export async function start(url, names) {
  const workers = names.map((name) => new Worker(name, async () => true, { connection: { url } }));
  await Promise.all(workers.map((worker) => worker.waitUntilReady()));
  return () => Promise.all(workers.map((worker) => worker.close()));
}
