import { checkOptions, optionNames } from '../../job/known-options.js';
import type { DaemonOperations } from '../vocabulary/operations.js';
import type { JobdLog } from '../vocabulary/log.js';
import { authenticator, type AuthOptions } from '../protocol/authentication.js';
import { checkMasterAddress, type MasterAddress } from '../protocol/master-address.js';
import { checkExposure, sayExposure, saySlowed } from '../protocol/exposure.js';
import { JobdServer } from '../protocol/server.js';
import type { ServerTls } from '../../net/tls.js';
import { MasterLink, type MasterLinkOptions } from './master-link.js';
import { unlessDraining } from './unless-draining.js';
import { workerRequests } from './worker-requests.js';
import { hideFields, showAs } from '../../job/show-as.js';

/** Options of `JobdWorker`. */
export interface JobdWorkerOptions {
  readonly host: string;
  readonly port: number;
  readonly auth: AuthOptions;
  readonly tls?: ServerTls;
  /** This worker's name in the master's list. */
  readonly name: string;
  /** @default none */
  readonly master?: MasterAddress;
  readonly log: JobdLog;
  readonly onRequest?: (type: string) => void;
}

const KNOWN = optionNames<JobdWorkerOptions>({
  host: true,
  port: true,
  auth: true,
  tls: true,
  name: true,
  master: true,
  log: true,
  onRequest: true,
});

/** How a daemon or an app is registered with a master. @throws InvalidOptionError */
export function linkOptions(
  daemon: DaemonOperations,
  { master, ...own }: { master: MasterAddress } & Pick<MasterLinkOptions, 'name' | 'log' | 'handlers'>,
): MasterLinkOptions {
  return {
    ...checkMasterAddress(master),
    ...own,
    targets: () => daemon.targets(),
    onRegistered: () => daemon.poll(),
  };
}

/** A daemon on the network: its own port, and the link to its master. */
export class JobdWorker {
  static {
    showAs(JobdWorker, ({ options: { name, host, port } }) => ({ name, host, port }));
  }

  private readonly server: JobdServer;
  private readonly link?: MasterLink;
  private draining = false;

  /** @throws ConfigurationError, InvalidOptionError, ConfigError for a host that others reach, without a password */
  constructor(
    daemon: DaemonOperations,
    private readonly options: JobdWorkerOptions,
  ) {
    hideFields(this);
    const { host, port, auth, tls, log, onRequest, name, master } = checkOptions(
      'JobdWorker',
      options,
      KNOWN,
    );
    checkExposure(options);
    const handlers = unlessDraining(workerRequests(daemon), () => this.draining);
    const authenticate = authenticator(auth, saySlowed(log));
    this.server = new JobdServer({ host, port, tls, log, onRequest, handlers, authenticate });
    if (!master) return;
    const withPassword = { password: auth.password, ...master };
    const link = new MasterLink(linkOptions(daemon, { master: withPassword, name, log, handlers }));
    daemon.onTargetsChanged(() => link.update());
    this.link = link;
  }

  /** Whether it is registered with its master; `undefined` without a master. */
  get isRegistered(): boolean | undefined {
    return this.link?.isRegistered;
  }

  /** Listens, and returns the port. @throws Node's error if that fails, such as EADDRINUSE */
  async start(): Promise<number> {
    const port = await this.server.listen();
    sayExposure(this.options, this.options.log);
    this.link?.start();
    return port;
  }

  /** Takes no new connections and no new work; status, signals and pending replies are still served. */
  drain(): void {
    this.draining = true;
    this.server.stopListening();
  }

  async stop(): Promise<void> {
    await Promise.all([this.server.close(), this.link?.stop()]);
  }
}
