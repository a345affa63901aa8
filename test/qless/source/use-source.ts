import { afterEach, beforeEach } from '@jest/globals';
import type { Redis } from 'ioredis';
import { QlessClient } from '../../../lib/qless/index.js';
import type { QlessSource } from '../../../lib/qless/source/qless-source.js';
import type { QlessSourceOptions } from '../../../lib/qless/source/source-options.js';
import { stopWorkersAfterEach } from '../../support/run-worker.js';
import { useRedis, type UsedRedis } from '../../support/use-redis.js';
import { Program, stopProgramsAfterEach } from '../../support/worker-process.js';
import { sourceOn } from '../source-rig.js';

export interface UsedSource {
  readonly url: string;
  readonly redis: Redis;
  readonly client: QlessClient;
  /** A source that is closed after the test. Without `keeper` nothing renews its locks; `url` is that of another user. */
  open(
    options?: Partial<QlessSourceOptions> & { keeper?: boolean; url?: string },
    klasses?: readonly string[],
  ): Promise<QlessSource>;
  /** A worker in a process of its own. */
  program(): Promise<Program>;
  /** What happened to a job. */
  historyOf(jid: string): Promise<string[] | undefined>;
}

/** For a file: a server that is empty before each test, and a client. */
export function useSource(server: UsedRedis = useRedis()): UsedSource {
  const sources: QlessSource[] = [];
  let client: QlessClient | undefined;

  beforeEach(async () => {
    await server.redis.flushall();
    client = new QlessClient({ connection: server.url });
  });
  stopWorkersAfterEach();
  stopProgramsAfterEach();
  afterEach(async () => {
    await Promise.all(sources.splice(0).map((source) => source.close()));
    client?.close();
  });

  function current(): QlessClient {
    if (!client) throw new Error('The client of useSource() is there within tests.');
    return client;
  }

  return {
    get url() {
      return server.url;
    },
    get redis() {
      return server.redis;
    },
    get client() {
      return current();
    },
    open: async ({ url = server.url, ...options } = {}, klasses = ['K']) => {
      const source = sourceOn({ connection: url }, options);
      sources.push(source);
      await source.open(klasses);
      return source;
    },
    program: () => Program.start('test/qless/worker-program.ts', { url: server.url, queue: 'q' }),
    historyOf: async (jid) => (await current().jobs.get(jid))?.record.history.map(({ what }) => what),
  };
}
