/** One round of one contender in a process of its own: `round.mjs CONTENDER SIZE REDIS_URL`; answers over IPC. */
import { Redis } from 'ioredis';
import { measure, SIZES } from './measurements.mjs';

const [contender, size, url] = process.argv.slice(2);
const { open, name, version } = await import(`./contenders/${contender}.mjs`);
const redis = new Redis(url);
const server = {
  url,
  flush: () => redis.flushall(),
  /** User and system time of all its threads. */
  cpuMicroseconds: async () => {
    const info = await redis.info('cpu');
    const seconds = (field) => Number(new RegExp(`^${field}:(.*)$`, 'm').exec(info)[1]);
    return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6;
  },
};

await server.flush();
process.send({ name, version, results: await measure(open, server, SIZES[size]) });
redis.disconnect();
process.disconnect();
