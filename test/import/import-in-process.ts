import type { Redis } from 'ioredis';
import { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { openConnections } from '../../lib/gearmonkey/redis-connections.js';
import { RedisStore } from '../../lib/gearmonkey/redis-store.js';
import { SYSTEMS, type SystemName } from '../../lib/import/foreign-system.js';
import type { Rules } from '../../lib/import/found-job.js';
import { QueueImport, type ImportOptions } from '../../lib/import/import-queue.js';
import type { ImportReport } from '../../lib/import/import-report.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';

/** Where jobs come from and go to; both may be one. */
export interface ImportUrls {
  readonly source: string;
  readonly target: string;
}

export type TestImport = Partial<Omit<ImportOptions, 'system' | 'rules'>> & {
  readonly system?: SystemName;
  readonly rules?: Partial<Rules>;
  readonly patience?: number;
};

export const RULES: Rules = { functionOf: () => 'mail', largest: 1024 * 1024, high: 0, normal: 0 };

/** An import in this process. */
export class ImportInProcess {
  private readonly connections;
  private readonly source: RedisConnection;
  private readonly importing: QueueImport;

  constructor(
    { source, target }: ImportUrls,
    { system = 'bullmq', rules, patience = 60_000, ...given }: TestImport = {},
  ) {
    this.connections = openConnections(target);
    const { commands, hub, keysOf } = this.connections;
    const client = new GearMonkeyClient(new RedisStore(commands, hub, { timeout: 10_000, keysOf }));
    this.source = new RedisConnection(source, 'import');
    this.importing = new QueueImport(
      { source: this.source, target: commands, client, keysOf, patience },
      {
        ...{ queue: 'mail', failed: false, dryRun: false, batch: 250, signal: new AbortController().signal },
        ...{ onProgress: () => undefined, ...given },
        system: SYSTEMS[system],
        rules: { ...RULES, ...rules },
      },
    );
  }

  async run(): Promise<ImportReport> {
    try {
      return await this.importing.run();
    } finally {
      this.kill();
    }
  }

  /** Nothing more is sent. */
  kill(): void {
    this.source.close();
    this.connections.commands.close();
    this.connections.hub.close();
    this.connections.close();
  }
}

/** A job of a function. */
export interface CreatedJob {
  readonly id: string;
  readonly fn: string;
  readonly queue: string;
  readonly input: unknown;
  /** In ms since 1970. */
  readonly due?: number;
  readonly options: Record<string, unknown>;
}

/** All jobs of a database, in the order in which they were created. @throws if one is not in one queue */
export async function createdJobs(redis: Redis, fn = 'mail'): Promise<CreatedJob[]> {
  const queues = new Map<string, string[]>();
  for (const name of ['high', 'normal', 'low'])
    queues.set(name, await redis.lrange(`queue:${fn}:${name}`, '0', '-1'));
  queues.set('scheduled', await redis.zrange(`queue:${fn}:scheduled`, '0', '-1'));
  const keys = (await redis.keys(`job:${fn}:*`)).filter((key) =>
    /^\d+$/.test(key.slice(`job:${fn}:`.length)),
  );
  const jobs = await Promise.all(
    keys.map(async (key) => {
      const id = key.slice(`job:${fn}:`.length);
      const places = [...queues].flatMap(([name, ids]) => ids.filter((each) => each === id).map(() => name));
      if (places.length !== 1) throw new Error(`Job ${id} is in ${JSON.stringify(places)}.`);
      const { input = '', options = '{}', due } = await redis.hgetall(key);
      return {
        ...{ id, fn, queue: places[0] as string, input: JSON.parse(input) as unknown },
        ...{ options: JSON.parse(options) as Record<string, unknown> },
        ...(due !== undefined && { due: Number(due) }),
      };
    }),
  );
  return jobs.sort((one, other) => Number(one.id) - Number(other.id));
}
