import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JobdDaemon } from '../../../lib/jobd/daemon/jobd-daemon.js';
import { SILENT } from '../../../lib/jobd/vocabulary/logging.js';
import { Database } from '../../../lib/jobd/storage/database.js';
import { initDatabase } from '../../../lib/jobd/storage/init-database.js';
import { JobdWorker, type JobdWorkerOptions } from '../../../lib/jobd/worker/jobd-worker.js';
import { RawClient } from './raw-client.js';

export interface UsedWorker {
  readonly port: number;
  readonly daemon: JobdDaemon;
  readonly worker: JobdWorker;
  /** Adds rows; their ids, in order. */
  addRows(target: string, status: 'waiting' | 'manual', count?: number): Promise<number[]>;
  client(): Promise<RawClient>;
}

interface WorkerSettings {
  readonly targets?: Readonly<Record<string, number>>;
  readonly launcher?: string;
  readonly options?: Partial<JobdWorkerOptions>;
}

let ids = 0;

/** For a `describe`: a real daemon on an SQLite table of its own, behind a real port. */
export function useWorker({
  targets = { low: 2, high: 1 },
  launcher = 'true',
  options,
}: WorkerSettings = {}) {
  let folder = '';
  let database: Database;
  let daemon: JobdDaemon;
  let worker: JobdWorker;
  let port = 0;
  const clients: RawClient[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'jobd-wire-'));
    const location = { dialect: 'sqlite', path: join(folder, 'jobs.db') } as const;
    await initDatabase(location, 'jobs', SILENT);
    database = await Database.open(location, SILENT);
    daemon = new JobdDaemon({
      database: location,
      launcher,
      targets: new Map(Object.entries(targets).map(([name, concurrency]) => [name, { concurrency }])),
    });
    worker = new JobdWorker(daemon, {
      host: '127.0.0.1',
      port: 0,
      name: 'test',
      auth: {},
      log: SILENT,
      ...options,
    });
    await daemon.start();
    port = await worker.start();
  });

  afterEach(() => clients.splice(0).forEach((client) => client.close()));

  afterAll(async () => {
    await daemon.stop({ timeout: 0 });
    await worker.stop();
    await database.close();
    await rm(folder, { recursive: true, force: true });
  });

  const used: UsedWorker = {
    get port() {
      return port;
    },
    get daemon() {
      return daemon;
    },
    get worker() {
      return worker;
    },
    addRows: async (target, status, count = 1) => {
      const rows = Array.from({ length: count }, () => newRow(++ids, target, status));
      await database.attempt((queries) => queries.insertInto('jobs').values(rows).execute());
      return rows.map(({ id }) => id);
    },
    client: async () => {
      const client = await RawClient.connect(port);
      clients.push(client);
      return client;
    },
  };
  return used;
}

export function newRow(id: number, target: string, status: 'waiting' | 'manual') {
  return {
    id,
    target,
    status,
    time_created: 1,
    time_started: 0,
    time_finished: 0,
    result: null,
    return_code: null,
    sig: null,
    stdout: null,
    stderr: null,
    time_scheduled: 0,
    attempts: 0,
    max_attempts: null,
    timeout: null,
  };
}
