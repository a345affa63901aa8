import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { RedisUsage } from '../../harness/redis-usage.mjs';
import { openQueue } from './contenders.mjs';
import { payloadOf } from './payload.mjs';
import { fill, IN_FLIGHT } from './throughput.mjs';

const ACTOR = fileURLToPath(new URL('./actor.mjs', import.meta.url));
const PRODUCERS = 2;
const CONSUMERS = 2;
const DRAINERS = 4;

/** Measures jobs per second with several processes, each with 100 jobs at a time. */
export async function processes({ contender, addresses, jobs, bytes, counts }) {
  const usage = new RedisUsage(addresses.redis);
  const task = { contender, url: addresses.redis, bytes };
  const each = jobs(counts.flow / PRODUCERS);
  // Jobs that the workers hold when they have started.
  const held = CONSUMERS * IN_FLIGHT;
  try {
    await usage.flush();
    const flow = await run(task, { filled: held, producers: PRODUCERS, each, workers: CONSUMERS });
    await usage.flush();
    const drain4 = await run(task, { filled: jobs(counts.drain4), producers: 0, each: 0, workers: DRAINERS });
    return { flow, drain4 };
  } finally {
    usage.close();
  }
}

/** Measures from the start signal until the last job has ended. */
async function run(task, { filled, producers, each, workers }) {
  const queue = await openQueue({ key: task.contender, url: task.url });
  await fill(queue, payloadOf(task.bytes), filled);
  await queue.close();
  const working = await startActors(workers, { ...task, role: 'work' });
  const producing = await startActors(producers, { ...task, role: 'produce', count: each });
  const count = filled + producers * each;
  const handled = allHandled(working, count);
  const started = performance.timeOrigin + performance.now();
  for (const actor of [...working, ...producing]) actor.send('go');
  const last = await handled;
  await stopActors([...producing, ...working]);
  return (count / (last - started)) * 1000;
}

/** Starts processes and waits until they are ready. */
function startActors(count, task) {
  const start = async () => {
    const child = fork(ACTOR, [JSON.stringify(task)]);
    const failed = once(child, 'exit').then(([code]) => {
      throw new Error(`A process of ${task.contender} ended with ${code} before it was ready.`);
    });
    await Promise.race([once(child, 'message'), failed]);
    failed.catch(() => undefined);
    return child;
  };
  return Promise.all(Array.from({ length: count }, start));
}

async function stopActors(actors) {
  await Promise.all(
    actors.map(async (actor) => {
      const exit = once(actor, 'exit');
      actor.send('stop');
      await exit;
    }),
  );
}

/** Resolves with the time when the workers together have handled this many jobs, in milliseconds since the epoch. */
function allHandled(workers, count) {
  const latest = new Map();
  return new Promise((resolve, reject) => {
    for (const worker of workers) {
      worker.once('exit', (code) => reject(new Error(`A worker ended with ${code} before all was done.`)));
      worker.on('message', (progress) => {
        if (progress.handled === undefined) return;
        latest.set(worker, progress);
        const all = [...latest.values()];
        if (all.reduce((sum, { handled }) => sum + handled, 0) < count) return;
        resolve(Math.max(...all.map(({ last }) => last)));
      });
    }
  });
}
