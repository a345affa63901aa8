import { afterAll, beforeEach } from '@jest/globals';
import { Redis } from 'ioredis';
import { useRedis } from '../support/use-redis.js';
import { createdJobs, ImportInProcess, type TestImport } from './import-in-process.js';

/** A queue of another system in one database, and functions in the next. */
export function useImport() {
  const used = useRedis();
  let target: Redis | undefined;
  beforeEach(async () => {
    await used.redis.flushall();
    target ??= new Redis(`${used.url}/1`);
  });
  afterAll(() => target?.disconnect());
  const urls = () => ({ source: used.url, target: `${used.url}/1` });

  return {
    used,
    urls,
    get source(): Redis {
      return used.redis;
    },
    get target(): Redis {
      return target as Redis;
    },
    /** For clients of BullMQ. */
    get connection() {
      return { host: '127.0.0.1', port: used.port };
    },
    import: (options?: TestImport) => new ImportInProcess(urls(), options).run(),
    created: (redis = target as Redis) => createdJobs(redis),
  };
}
