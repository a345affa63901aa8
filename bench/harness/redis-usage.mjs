import { Redis } from 'ioredis';

/** The resources that a Redis server has used so far; subtract two readings. */
export class RedisUsage {
  #redis;

  constructor(url) {
    this.#redis = new Redis(url);
  }

  /** Resolves when all memory is freed, so that this does not affect the next measurement. */
  flush() {
    return this.#redis.flushall('SYNC');
  }

  async memoryBytes() {
    return field(await this.#redis.info('memory'), 'used_memory');
  }

  /** What all keys occupy. Unlike `memoryBytes`, nothing else that the server allocates or frees counts. */
  async keyBytes() {
    let bytes = 0;
    for await (const keys of this.#redis.scanStream({ count: 1000 })) {
      const sizes = await Promise.all(keys.map((key) => this.#redis.memory('USAGE', key, 'SAMPLES', 0)));
      for (const size of sizes) bytes += size ?? 0;
    }
    return bytes;
  }

  /** User and system time in microseconds; `mainThread` is null if the system doesn't report it. */
  async cpu() {
    const info = await this.#redis.info('cpu');
    const sum = (suffix) =>
      (field(info, `used_cpu_user${suffix}`) + field(info, `used_cpu_sys${suffix}`)) * 1e6;
    const mainThread = sum('_main_thread');
    return { all: sum(''), mainThread: Number.isNaN(mainThread) ? null : mainThread };
  }

  /** Calls of each command since the server's start, by clients and scripts together. */
  async calls() {
    const info = await this.#redis.info('commandstats');
    const calls = new Map();
    for (const [, name, count] of info.matchAll(/^cmdstat_([^:|]+)[^:]*:calls=(\d+)/gm)) {
      calls.set(name, (calls.get(name) ?? 0) + Number(count));
    }
    return calls;
  }

  /**
   * Which part of each command's calls scripts make, while `action` runs. Every command is reported to us then,
   * which slows the server: measure something else at another time.
   */
  async scriptShares(action) {
    const monitor = await this.#redis.monitor();
    const seen = new Map();
    monitor.on('monitor', (_, [name], source) => {
      const counts = seen.get(name.toLowerCase()) ?? { scripts: 0, all: 0 };
      counts.all += 1;
      if (source === 'lua') counts.scripts += 1;
      seen.set(name.toLowerCase(), counts);
    });
    await action();
    await this.#redis.ping();
    monitor.disconnect();
    return new Map([...seen].map(([name, { scripts, all }]) => [name, scripts / all]));
  }

  close() {
    this.#redis.disconnect();
  }
}

function field(info, name) {
  return Number(new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1] ?? NaN);
}
