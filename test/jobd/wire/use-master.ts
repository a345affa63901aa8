import { afterEach, beforeEach } from '@jest/globals';
import { SILENT } from '../../../lib/jobd/vocabulary/logging.js';
import { JobdMaster, type JobdMasterOptions } from '../../../lib/jobd/master/jobd-master.js';
import { until } from '../../support/until.js';
import { OriginalWorker } from './original-actors.js';
import { RawClient } from './raw-client.js';

export interface UsedMaster {
  readonly port: number;
  readonly master: JobdMaster;
  client(): Promise<RawClient>;
  /** Registers a worker as the original is. */
  worker(
    name: string,
    targets: readonly string[],
    answer?: (type: string, data: unknown) => unknown,
  ): Promise<OriginalWorker>;
  /** Closes a worker, and waits until the master knows. */
  leave(worker: OriginalWorker): Promise<void>;
}

/** For a `describe`: a master on a port of its own, a new one for each test. */
export function useMaster(options: Partial<JobdMasterOptions> = {}): UsedMaster {
  let master: JobdMaster;
  let port = 0;
  const opened: { close(): void }[] = [];
  const keep = <T extends { close(): void }>(thing: T): T => {
    opened.push(thing);
    return thing;
  };

  beforeEach(async () => {
    master = new JobdMaster({
      host: '127.0.0.1',
      port: 0,
      auth: {},
      pokeThrottleInterval: 0,
      log: SILENT,
      ...options,
    });
    port = await master.start();
  });

  afterEach(async () => {
    for (const thing of opened.splice(0)) thing.close();
    await master.stop();
  });

  return {
    get port() {
      return port;
    },
    get master() {
      return master;
    },
    client: async () => keep(await RawClient.connect(port)),
    worker: async (...worker) => keep(await OriginalWorker.register(port, ...worker)),
    leave: async (worker) => {
      const { workers } = master;
      worker.close();
      await until(() => master.workers < workers);
    },
  };
}
