import { defined } from '../../job/defined.js';
import { toMilliseconds, type Duration } from '../../job/duration.js';
import { JobdDaemon } from '../daemon/jobd-daemon.js';
import type { JobdLog } from '../vocabulary/log.js';
import { JobdMaster } from '../master/jobd-master.js';
import { localPolls, tableKey } from '../source/local-polls.js';
import { initDatabase } from '../storage/init-database.js';
import { JobdWorker, linkOptions } from '../worker/jobd-worker.js';
import { MasterLink } from '../worker/master-link.js';
import { unlessDraining } from '../worker/unless-draining.js';
import { workerRequests } from '../worker/worker-requests.js';
import { ClientTable } from './client-table.js';
import { JobdClient } from './jobd.client.js';
import { checkModuleOptions, type JobdModuleOptions, type WorkerModuleOptions } from './jobd.options.js';
import { daemonRoute, masterRoute, NO_ROUTE, remoteRoute, type RequestRoute } from './request-routes.js';
import { hideFields, showAs } from '../../job/show-as.js';
import { databaseAddress } from '../storage/database-location.js';

const LOCALHOST = '127.0.0.1';

/** The parts of one `forRoot`. They are created at once, and connect and listen when started. */
export class JobdInstance {
  static {
    showAs(JobdInstance, ({ options, ports }) => ({
      database: databaseAddress(options.database),
      table: options.table ?? 'jobs',
      listening: ports,
    }));
  }

  readonly client: JobdClient;
  /** Undefined without the option `worker`. */
  readonly daemon: JobdDaemon | undefined;
  /** Undefined without the option `master`. */
  readonly master: JobdMaster | undefined;
  private readonly table: ClientTable;
  private readonly key: string;
  private readonly worker: JobdWorker | undefined;
  private readonly link: MasterLink | undefined;
  private isDraining = false;
  private ports: { master?: number; worker?: number } = {};

  /** @internal @throws ConfigurationError, InvalidOptionError, DatabaseSetupError */
  constructor(
    private readonly options: JobdModuleOptions,
    private readonly log: JobdLog,
  ) {
    const { database, table = 'jobs', worker } = checkModuleOptions(options);
    this.table = new ClientTable(database, table, log);
    this.key = tableKey(database, table);
    this.master = createMaster(options.master, log);
    this.daemon = worker && createDaemon(worker, { database, table }, log);
    this.worker = this.daemon && worker && createWorker(this.daemon, worker, log);
    const isDraining = () => this.isDraining;
    this.link =
      this.daemon && worker && !this.worker
        ? createLink(this.daemon, worker, { log, isDraining })
        : undefined;
    this.client = new JobdClient(this.table, this.route(), this.key);
    hideFields(this);
  }

  /** The ports it listens on, if any. */
  get listening(): Readonly<{ master?: number; worker?: number }> {
    return this.ports;
  }

  /** @throws DatabaseSetupError, and what listening throws; nothing runs then */
  async start(): Promise<void> {
    const { database, table = 'jobs', createTable } = this.options;
    try {
      if (createTable) await initDatabase(database, table, this.log);
      const master = await this.master?.start();
      await this.daemon?.start();
      const worker = await this.worker?.start();
      this.ports = defined({ master: master || undefined, worker: worker || undefined });
      this.link?.start();
      localPolls.on(this.key, this.onLocalPoll);
    } catch (error) {
      await this.stopWork(0);
      await this.close();
      throw error;
    }
  }

  /** Running jobs may finish until `timeout`. @param timeout @default the worker's `drainTimeout` @throws InvalidOptionError */
  async stopWork(timeout?: Duration): Promise<void> {
    if (timeout !== undefined) toMilliseconds('timeout', timeout, { least: 0 });
    localPolls.off(this.key, this.onLocalPoll);
    this.isDraining = true;
    this.worker?.drain();
    await this.daemon?.stop(timeout === undefined ? {} : { timeout });
    await this.worker?.stop();
    await this.link?.stop();
  }

  async close(): Promise<void> {
    await this.master?.stop();
    await this.table.close();
  }

  private readonly onLocalPoll = (targets: readonly string[]) => {
    const served = this.daemon?.targets() ?? [];
    const asked = targets.filter((target) => served.includes(target));
    if (asked.length > 0) this.daemon?.poll(asked);
  };

  private route(): RequestRoute {
    if (this.options.server) return remoteRoute(this.options.server);
    if (this.master) return masterRoute(this.master);
    return this.daemon ? daemonRoute(this.daemon) : NO_ROUTE;
  }
}

function createMaster(options: JobdModuleOptions['master'], log: JobdLog): JobdMaster | undefined {
  if (!options) return undefined;
  return new JobdMaster({ host: LOCALHOST, auth: {}, ...options, log });
}

function createDaemon(
  worker: WorkerModuleOptions,
  where: Pick<JobdModuleOptions, 'database' | 'table'>,
  log: JobdLog,
): JobdDaemon {
  const { targets, listen: _, master: __, ...options } = worker;
  const entries = Object.entries(targets).map(
    ([name, target]) => [name, typeof target === 'number' ? { concurrency: target } : target] as const,
  );
  return new JobdDaemon({ ...options, ...where, targets: new Map(entries), log });
}

function createWorker(
  daemon: JobdDaemon,
  { listen, master, name = 'app' }: WorkerModuleOptions,
  log: JobdLog,
): JobdWorker | undefined {
  if (!listen) return undefined;
  const { host = LOCALHOST, port, auth = {}, tls } = listen;
  return new JobdWorker(daemon, { host, port, auth, name, log, tls, master });
}

/** For a worker that can be reached through its master only. */
function createLink(
  daemon: JobdDaemon,
  { master, name = 'app' }: WorkerModuleOptions,
  { log, isDraining }: { readonly log: JobdLog; readonly isDraining: () => boolean },
): MasterLink | undefined {
  if (!master) return undefined;
  const handlers = unlessDraining(workerRequests(daemon), isDraining);
  const link = new MasterLink(linkOptions(daemon, { master, name, log, handlers }));
  daemon.onTargetsChanged(() => link.update());
  return link;
}
