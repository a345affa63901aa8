import { RedisUsage } from '../../harness/redis-usage.mjs';
import { openQueue } from './contenders.mjs';
import { drain, enqueueAll, fill, IN_FLIGHT, warmUp, warmUpJobs } from './throughput.mjs';

/** Enough jobs to see every command. */
const MONITORED_JOBS = 300;

/** Measures the cost of a job from enqueue to end, with 100 in flight: CPU of Redis and Node, commands, memory. */
export async function cost({ contender, addresses, jobs, input, count }) {
  const usage = new RedisUsage(addresses.redis);
  await usage.flush();
  const queue = await openQueue({ key: contender, url: addresses.redis });
  try {
    await warmUp(queue, input, warmUpJobs(jobs, count / 10));
    const shares = await usage.scriptShares(() => life(queue, input, jobs(MONITORED_JOBS)));
    await usage.flush();
    const total = jobs(count);
    return {
      ...(await lifeCost(queue, usage, input, total, shares)),
      workerCpu1: await aloneCost(queue, input, jobs(count / 2)),
      memory: await memoryPerWaitingJob(queue, usage, input, total),
    };
  } finally {
    await queue.close();
    usage.close();
  }
}

/** CPU microseconds of this process while enqueueing and while processing; the worker's counts after it has started. */
async function life(queue, input, count, enqueued = async () => {}) {
  const before = process.cpuUsage();
  await enqueueAll(queue, input, count);
  const { user, system } = process.cpuUsage(before);
  await enqueued();
  const { cpuMicroseconds } = await drain(queue, count, IN_FLIGHT);
  return { client: user + system, worker: cpuMicroseconds };
}

async function lifeCost(queue, usage, input, count, shares) {
  const before = { cpu: await usage.cpu(), calls: await usage.calls() };
  let between = before.cpu;
  const node = await life(queue, input, count, async () => void (between = await usage.cpu()));
  const [cpu, calls] = [await usage.cpu(), await usage.calls()];
  const main = mainThreadOf(before.cpu, cpu);
  const { commands, scripted } = split(before.calls, calls, shares);
  return {
    redisCpu: (cpu.all - before.cpu.all) / count,
    redisEnqueue: (between.all - before.cpu.all) / count,
    redisRun: (cpu.all - between.all) / count,
    redisMainCpu: main === null ? null : main / count,
    commands: commands / count,
    scripted: scripted / count,
    clientCpu: node.client / count,
    workerCpu: node.worker / count,
  };
}

/** CPU microseconds of a worker that runs one job at a time. */
async function aloneCost(queue, input, count) {
  await fill(queue, input, count);
  const { cpuMicroseconds } = await drain(queue, count, 1);
  return cpuMicroseconds / count;
}

function mainThreadOf(before, after) {
  return before.mainThread === null ? null : after.mainThread - before.mainThread;
}

/** Splits the counts, since Redis counts calls of clients and of scripts together. */
function split(before, after, shares) {
  let [commands, scripted] = [0, 0];
  for (const [name, calls] of after) {
    const made = calls - (before.get(name) ?? 0);
    const share = shares.get(name) ?? 0;
    commands += made * (1 - share);
    scripted += made * share;
  }
  return { commands, scripted };
}

async function memoryPerWaitingJob(queue, usage, input, count) {
  await usage.flush();
  const before = await usage.memoryBytes();
  await fill(queue, input, count);
  return ((await usage.memoryBytes()) - before) / count;
}
