import { Redis } from 'ioredis';
import { RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { remains } from './remains.js';
import { SoakProcess } from './soak-process.js';
import type { HeapCount } from './heap-count.js';

/** Counts of resources by name, when nothing is under way. */
export type Census = Readonly<Record<string, number>>;

/** Two workers and a client on their own server, which repeat the same work. */
export class Rounds {
  private constructor(
    private readonly server: RedisServer,
    private readonly redis: Redis,
    private readonly workers: readonly SoakProcess[],
    private readonly driver: SoakProcess,
  ) {}

  static async open(): Promise<Rounds> {
    const server = await RedisServer.start();
    const start = (name: string, program: string) => SoakProcess.start(name, program, server.url);
    const workers = await Promise.all(['worker 1', 'worker 2'].map((name) => start(name, './worker.ts')));
    return new Rounds(server, new Redis(server.url), workers, await start('client', './driver.ts'));
  }

  /** One after the other; each ends with its last job, and its jobs are removed. */
  async work(rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      const { problems } = await this.driver.does<{ problems: string[] }>('round');
      if (problems.length > 0) throw new Error(problems.join('\n'));
      await until(async () => (await remains(this.redis, { workers: 2 })).length === 0, {
        seen: () => remains(this.redis, { workers: 2 }),
      });
      // They would expire by themselves, sooner or later.
      const ended = await Promise.all(['job', 'lock'].map((kind) => this.redis.keys(`${kind}:soak:*`)));
      if (ended.flat().length > 0) await this.redis.del(ended.flat());
    }
  }

  async census(): Promise<Census> {
    // Workers write the first statistics some seconds after their first job.
    await until(async () => (await this.redis.keys('statistics:*')).length > 0, { timeout: 60_000 });
    const counts = new Map<string, number>();
    for (const child of [...this.workers, this.driver]) {
      const own = await child.does<HeapCount>('count');
      for (const [what, count] of Object.entries(own)) counts.set(`${what} of ${child.name}`, count);
    }
    for (const key of await this.redis.keys('*'))
      // Each hour has a key, and lists of jobs come and go with these.
      if (!/^(statistics|ended|retrying|functions)\b/.test(key)) counts.set(`key ${key}`, 1);
    const info = await this.redis.info();
    for (const field of [
      'connected_clients',
      'pubsub_channels',
      'pubsub_patterns',
      'number_of_cached_scripts',
    ])
      counts.set(field, Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1]));
    return Object.fromEntries(counts);
  }

  /** Each part closes by itself; returns what it left behind. */
  async close(): Promise<string[]> {
    await this.driver.close();
    for (const worker of this.workers) await worker.close();
    return remains(this.redis);
  }

  async stop(): Promise<void> {
    for (const child of [...this.workers, this.driver]) child.kill();
    this.redis.disconnect();
    await this.server.stop();
  }
}
