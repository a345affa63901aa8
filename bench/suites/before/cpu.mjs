import { openOwnApp } from '../../harness/own-app.mjs';
import { RedisUsage } from '../../harness/redis-usage.mjs';
import { drain, enqueueAll, fill, warmUp } from '../peers/throughput.mjs';

const INPUT = { to: 'ada@example.com', subject: 'x'.repeat(60) };
const WARM_UP = 5000;
const COUNT = 20_000;

/** The CPU microseconds of a job, in this process and in Redis. */
export async function cpuOf({ contender, addresses, jobs }, what) {
  const usage = new RedisUsage(addresses.redis);
  await usage.flush();
  const queue = await openOwnApp(addresses.redis, 'bench', { from: addresses[contender] });
  try {
    await warmUp(queue, INPUT, jobs(WARM_UP));
    const count = jobs(COUNT);
    return await { client, worker }[what](queue, usage, count);
  } finally {
    await queue.close();
    usage.close();
  }
}

async function client(queue, usage, count) {
  const few = Math.ceil(count / 10);
  const alone = async () => {
    for (let left = few; left > 0; left--) await queue.enqueue(INPUT);
  };
  const together = await measured(usage, count, () => enqueueAll(queue, INPUT, count));
  return {
    enqueue1: (await measured(usage, few, alone)).node,
    enqueue100: together.node,
    bulk: (await measured(usage, count, () => fill(queue, INPUT, count))).node,
    redisEnqueue: together.redis,
  };
}

async function worker(queue, usage, count) {
  const figures = {};
  for (const concurrency of [1, 10, 100]) {
    await usage.flush();
    await fill(queue, INPUT, count);
    let cpu = 0;
    const { redis } = await measured(usage, count, async () => {
      cpu = (await drain(queue, count, concurrency)).cpuMicroseconds;
    });
    figures[`run${concurrency}`] = cpu / count;
    figures.redisRun = redis;
  }
  return figures;
}

async function measured(usage, count, action) {
  const [node, redis] = [process.cpuUsage(), await usage.cpu()];
  await action();
  const { user, system } = process.cpuUsage(node);
  return { node: (user + system) / count, redis: ((await usage.cpu()).all - redis.all) / count };
}
