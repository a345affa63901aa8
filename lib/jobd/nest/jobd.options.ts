import type { ConfigurableModuleAsyncOptions } from '@nestjs/common';
import { checkOptions, optionNames } from '../../job/known-options.js';
import { DAEMON_OPTIONS, type DaemonOptions } from '../daemon/daemon-options.js';
import type { TargetOptions } from '../rows/targets.js';
import { MASTER_OPTIONS, type JobdMasterOptions } from '../master/jobd-master.js';
import type { AuthOptions } from '../protocol/authentication.js';
import { checkClientTls, type ClientTls, type ServerTls } from '../../net/tls.js';
import type { DatabaseLocation } from '../storage/database-location.js';
import type { MasterAddress } from '../protocol/master-address.js';

/** A port of this app that speaks the protocol. */
export interface ListenOptions {
  /** A host that other machines reach needs a password in `auth`, or `allowNoPassword`. @default '127.0.0.1' */
  readonly host?: string;
  /** 0 for any free port. */
  readonly port: number;
  /** @default all clients may send requests */
  readonly auth?: AuthOptions;
  readonly tls?: ServerTls;
}

/** The worker or master of another process that the client sends requests to. */
export interface ServerAddress {
  readonly kind: 'worker' | 'master';
  /** @default '127.0.0.1' */
  readonly host?: string;
  readonly port: number;
  readonly password?: string;
  readonly tls?: ClientTls;
}

/** A daemon in this app: each row's job is a process. */
export interface WorkerModuleOptions extends Omit<DaemonOptions, 'database' | 'table' | 'log' | 'targets'> {
  /** By name: how many jobs run at once, or more options. */
  readonly targets: Readonly<Record<string, number | TargetOptions>>;
  /** @default no port: only this app's client uses it */
  readonly listen?: ListenOptions;
  readonly master?: MasterAddress;
}

/** A master in this app. */
export interface MasterModuleOptions
  extends ListenOptions, Partial<Omit<JobdMasterOptions, 'log' | 'auth' | 'tls' | 'host' | 'port'>> {}

/** Options of `JobdModule.forRoot`. */
export interface JobdModuleOptions {
  /** A URL, such as `mysql://…`, `postgres://…` or `sqlite:/path/jobs.db`, or its parts. */
  readonly database: string | DatabaseLocation;
  /** @default 'jobs' */
  readonly table?: string;
  /** Creates the table where it is missing when the app starts. @default false */
  readonly createTable?: boolean;
  /** The server that the client uses. @default this module's master, else its worker */
  readonly server?: ServerAddress;
  readonly worker?: WorkerModuleOptions;
  readonly master?: MasterModuleOptions;
}

/** For `forRootAsync({ useClass })` and `useExisting`. */
export interface JobdOptionsFactory {
  createJobdOptions(): JobdModuleOptions | Promise<JobdModuleOptions>;
}

/** Options of `JobdModule.forRootAsync`. */
export type JobdModuleAsyncOptions = ConfigurableModuleAsyncOptions<JobdModuleOptions, 'createJobdOptions'>;

const MODULE = optionNames<JobdModuleOptions>({
  database: true,
  table: true,
  createTable: true,
  server: true,
  worker: true,
  master: true,
});
const SERVER = optionNames<ServerAddress>({ kind: true, host: true, port: true, password: true, tls: true });
const LISTEN = optionNames<ListenOptions>({ host: true, port: true, auth: true, tls: true });
const NOT_OF_WORKER: ReadonlySet<string> = new Set(['database', 'table', 'log']);
const WORKER: ReadonlySet<string> = new Set([
  ...[...DAEMON_OPTIONS].filter((name) => !NOT_OF_WORKER.has(name)),
  ...['listen', 'master'],
]);
const MASTER: ReadonlySet<string> = new Set([...MASTER_OPTIONS].filter((name) => name !== 'log'));

/** Refuses unknown options at each level. @throws ConfigurationError */
export function checkModuleOptions(options: JobdModuleOptions): JobdModuleOptions {
  const { server, worker, master } = checkOptions('JobdModule', options, MODULE);
  if (server) {
    checkOptions('server', server, SERVER);
    if (server.tls) checkClientTls('server.tls', server.tls);
  }
  if (worker) checkOptions('worker', worker, WORKER);
  if (worker?.listen) checkOptions('worker.listen', worker.listen, LISTEN);
  if (master) checkOptions('master', master, MASTER);
  return options;
}
