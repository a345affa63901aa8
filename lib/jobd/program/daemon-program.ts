import { defined } from '../../job/defined.js';
import type { DaemonConfig } from '../config/daemon-config.js';
import { JobdDaemon } from '../daemon/jobd-daemon.js';
import type { JobdLog } from '../vocabulary/log.js';
import { RequestCounter, type Measure, type Monitored } from '../monitor/measure.js';
import { JobdWorker } from '../worker/jobd-worker.js';
import { startMonitor, type Program } from './program.js';

/** Starts the daemon of jobd. @throws what the database or listening throws */
export async function startDaemon(config: DaemonConfig, log: JobdLog): Promise<Program> {
  process.title = `jobd ${config.name}`;
  const requests = new RequestCounter();
  const daemon = new JobdDaemon({ ...config.daemon, log });
  const { host, port: asked, auth, tls, name, master } = config;
  const onRequest = requests.count;
  const worker = new JobdWorker(daemon, { host, port: asked, auth, tls, name, master, log, onRequest });
  await daemon.start();
  try {
    const port = await worker.start();
    const monitor = await startMonitor(config, monitored(daemon, worker, requests), log);
    let isStopping = false;
    const stop = async () => {
      // A second call stops at once.
      if (isStopping) return daemon.stop({ timeout: 0 });
      isStopping = true;
      worker.drain();
      await daemon.stop();
      monitor?.stop();
      await worker.stop();
    };
    return { port, stop };
  } catch (error) {
    await Promise.all([daemon.stop({ timeout: 0 }), worker.stop()]);
    throw error;
  }
}

function monitored(daemon: JobdDaemon, worker: JobdWorker, requests: RequestCounter): Monitored {
  return {
    measures: [requests.measure('jobd_requests'), ...measuresOf(daemon)],
    onRun: (listener) => daemon.onRun(listener),
    health: () => ({ ...daemon.health(), ...defined({ master: worker.isRegistered }) }),
  };
}

function measuresOf(daemon: JobdDaemon): Measure[] {
  const perTarget = (name: string, help: string, key: 'length' | 'concurrency' | 'paused'): Measure => ({
    name,
    help,
    labelName: 'target',
    read: () =>
      Object.entries(daemon.status().targets).map(([label, status]) => ({
        label,
        value: Number(status[key]),
      })),
  });
  return [
    perTarget('jobd_target_length', 'Jobs that run or are queued', 'length'),
    perTarget('jobd_target_concurrency', 'Jobs that may run at once', 'concurrency'),
    perTarget('jobd_target_paused', '1 where the target is paused', 'paused'),
    {
      name: 'jobd_manual_jobs',
      help: 'Manual jobs that clients wait for',
      read: () => [{ value: daemon.status().jobPromisesCount }],
    },
    {
      name: 'gearmonkey_connected',
      help: '1 where the database answered when it was last asked',
      labelName: 'name',
      read: () => [{ label: 'database', value: Number(daemon.health().connected) }],
    },
  ];
}
