import type { MasterConfig } from '../config/master-config.js';
import type { JobdLog } from '../vocabulary/log.js';
import { JobdMaster } from '../master/jobd-master.js';
import { RequestCounter, type Measure } from '../monitor/measure.js';
import { startMonitor, type Program } from './program.js';

/** Starts the master of jobd-master. @throws what listening throws */
export async function startMaster(config: MasterConfig, log: JobdLog): Promise<Program> {
  process.title = 'jobd-master';
  const requests = new RequestCounter();
  const { log: _, http: __, unknown: ___, ...options } = config;
  const master = new JobdMaster({ ...options, log, onRequest: requests.count });
  const port = await master.start();
  const monitored = {
    measures: [requests.measure('jobd_master_requests'), ...measuresOf(master)],
    health: () => ({ connected: true, workers: master.workers }),
  };
  const monitor = await startMonitor(config, monitored, log).catch(async (error: unknown) => {
    await master.stop();
    throw error;
  });
  return {
    port,
    stop: async () => {
      monitor?.stop();
      await master.stop();
    },
  };
}

function measuresOf(master: JobdMaster): Measure[] {
  return [
    {
      name: 'jobd_master_workers',
      help: 'Registered workers',
      read: () => [{ value: master.workers }],
    },
    {
      name: 'jobd_master_waiting_targets',
      help: 'Poked targets that no worker serves yet',
      read: () => [{ value: master.waitingTargets }],
    },
  ];
}
