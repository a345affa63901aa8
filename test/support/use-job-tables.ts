import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { DaemonOptions } from '../../lib/jobd/daemon/daemon-options.js';
import { JobdDaemon } from '../../lib/jobd/daemon/jobd-daemon.js';
import { JobRows, type SqlServer } from './job-rows.js';

export interface UsedTables<S extends SqlServer> {
  readonly server: S;
  /** A table of the test's own. */
  table(ddl?: (name: string) => string): Promise<JobRows>;
  /** A started daemon, stopped after the test. */
  daemon(options: DaemonOptions): Promise<JobdDaemon>;
}

/** For a `describe`: one private server from its first test to its last. */
export function useJobTables<S extends SqlServer>(start: () => Promise<S>): UsedTables<S> {
  let server: S | undefined;
  let names = 0;
  const tables = new Set<JobRows>();
  const daemons = new Set<JobdDaemon>();

  beforeAll(async () => {
    server = await start();
  });
  afterEach(async () => {
    await Promise.all([...daemons].map((daemon) => daemon.stop({ timeout: 0 })));
    daemons.clear();
    await Promise.all([...tables].map((table) => table.close()));
    tables.clear();
  });
  afterAll(async () => {
    await server?.stop();
  });

  function current(): S {
    if (!server) throw new Error('The server of useJobTables() starts in beforeAll.');
    return server;
  }

  return {
    get server() {
      return current();
    },
    async table(ddl) {
      const name = `jobs${++names}`;
      const table = await JobRows.create(current().url, name, ddl?.(name));
      tables.add(table);
      return table;
    },
    async daemon(options) {
      const daemon = new JobdDaemon(options);
      daemons.add(daemon);
      await daemon.start();
      return daemon;
    },
  };
}
