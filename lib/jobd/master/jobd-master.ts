import { millisecondsOr, type Duration } from '../../job/duration.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import type { JobdLog } from '../vocabulary/log.js';
import { authenticator, type AuthOptions } from '../protocol/authentication.js';
import { checkExposure, sayExposure, saySlowed } from '../protocol/exposure.js';
import type { Peer } from '../protocol/peer.js';
import { Heartbeat } from '../protocol/heartbeat.js';
import type { ManualReply } from '../protocol/job-results.js';
import { JobdServer } from '../protocol/server.js';
import type { ServerTls } from '../../net/tls.js';
import { runManual, type JobAddress, readJobs } from './manual-jobs.js';
import { PokeThrottle } from './poke-throttle.js';
import { Poker } from './poker.js';
import { RegisteredWorker } from './registered-worker.js';
import { WorkerRegistry } from './worker-registry.js';
import { hideFields, showAs } from '../../job/show-as.js';
import { memoryUsage } from 'node:process';
import { RequestError } from '../vocabulary/errors.js';
import { toHandlers, type RequestArguments, type RequestHandlers } from '../protocol/request-handlers.js';
import { readOptionalTargets, readTargets } from '../protocol/target-lists.js';
import { sendSignals, SIGNAL, type SignalledJob } from './signals.js';
import { forward, listWorkers } from './worker-states.js';

/** Options of `JobdMaster`. */
export interface JobdMasterOptions {
  readonly host: string;
  readonly port: number;
  readonly auth: AuthOptions;
  readonly tls?: ServerTls;
  /** How often workers are pinged; one that sends nothing between two pings is disconnected. @default '30s' */
  readonly pingInterval?: Duration;
  /** How long pokes are collected before they are sent. @default '0.5s' */
  readonly pokeThrottleInterval?: Duration;
  /** Pokes go to every worker that serves a target, not to a random one. @default false */
  readonly pollAllWorkers?: boolean;
  readonly log: JobdLog;
  readonly onRequest?: (type: string) => void;
}

/** Names of all options. */
export const MASTER_OPTIONS = optionNames<JobdMasterOptions>({
  host: true,
  port: true,
  auth: true,
  tls: true,
  pingInterval: true,
  pokeThrottleInterval: true,
  pollAllWorkers: true,
  log: true,
  onRequest: true,
});

/** Knows which workers serve which targets, and passes clients' requests on to them. */
export class JobdMaster {
  static {
    showAs(JobdMaster, ({ options: { host, port }, workers }) => ({ host, port, workers }));
  }

  private readonly server: JobdServer;
  private readonly registry = new WorkerRegistry();
  private readonly poker: Poker;
  private readonly throttle: PokeThrottle;
  private readonly pingInterval: number;

  /** @throws ConfigurationError, InvalidOptionError, ConfigError for a host that others reach, without a password */
  constructor(private readonly options: JobdMasterOptions) {
    checkOptions('JobdMaster', options, MASTER_OPTIONS);
    checkExposure(options);
    const { host, port, auth, tls, log, onRequest, pollAllWorkers = false } = options;
    this.poker = new Poker(this.registry, { pollAll: pollAllWorkers, log });
    const poke = (targets: readonly string[]) => this.poker.poke(targets);
    const interval = options.pokeThrottleInterval;
    this.throttle = new PokeThrottle(
      millisecondsOr('0.5s', 'pokeThrottleInterval', interval, { least: 0 }),
      poke,
    );
    this.pingInterval = millisecondsOr('30s', 'pingInterval', options.pingInterval);
    const handlers = masterRequests(this.registry, this.throttle, (...worker) => this.register(...worker));
    this.server = new JobdServer({
      host,
      port,
      tls,
      log,
      onRequest,
      handlers,
      authenticate: authenticator(auth, saySlowed(log)),
    });
    hideFields(this);
  }

  /** How many workers are registered. */
  get workers(): number {
    return this.registry.all().length;
  }

  /** How many poked targets wait for a worker that serves them. */
  get waitingTargets(): number {
    return this.poker.waiting;
  }

  /** Listens, and returns the port. @throws Node's error if that fails, such as EADDRINUSE */
  async start(): Promise<number> {
    const port = await this.server.listen();
    sayExposure(this.options, this.options.log);
    return port;
  }

  /** Does the same as the request `poke`. */
  poke(targets: readonly string[]): void {
    this.throttle.add(targets);
  }

  /** Does the same as the request `run-manual`. */
  runManual(jobs: readonly JobAddress[]): Promise<ManualReply> {
    return runManual(this.registry, jobs);
  }

  async stop(): Promise<void> {
    this.throttle.stop();
    await this.server.close();
  }

  private register(connection: Peer, name: string, targets: readonly string[]): void {
    if (!this.registry.has(connection)) this.accept(connection);
    const worker = new RegisteredWorker(connection, name, new Set(targets));
    this.registry.add(worker);
    this.options.log.info(`worker '${name}' at ${connection.address} serves ${targets.length} targets`);
    this.poker.recall(worker);
  }

  private accept(connection: Peer): void {
    connection.trust();
    const heartbeat = new Heartbeat(connection, this.pingInterval);
    void connection.closed.then((reason) => {
      heartbeat.stop();
      const worker = this.registry.remove(connection);
      this.options.log.warn(`worker '${worker?.name ?? ''}' at ${connection.address} left: ${reason}`);
    });
  }
}

const OK = 'ok';

const MAX_NAME_LENGTH = 255;

/** Takes a registration. */
type Register = (connection: Peer, name: string, targets: readonly string[]) => void;

/** The requests that a master serves, as the protocol lists them. */
function masterRequests(
  registry: WorkerRegistry,
  throttle: PokeThrottle,
  register: Register,
): RequestHandlers {
  const ok = (_done: void) => OK;
  return toHandlers({
    'register-worker': ({ name, targets }, from) => ok(register(from, readName(name), readTargets(targets))),
    poke: ({ targets }) => ok(throttle.add(readTargets(targets))),
    pause: (args) => forward(registry, 'pause', readOptionalTargets(args)).then(ok),
    continue: (args) => forward(registry, 'continue', readOptionalTargets(args)).then(ok),
    status: (args) => status(registry, args),
    'run-manual': (args) => runManual(registry, readJobs<JobAddress>(args)),
    'send-signal': (args) => sendSignals(registry, readJobs<SignalledJob>(args, [SIGNAL])),
  });
}

function readName(name: unknown): string {
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME_LENGTH) {
    throw new RequestError('name is missing or invalid');
  }
  return name;
}

async function status(registry: WorkerRegistry, args: RequestArguments): Promise<object> {
  const workers = await listWorkers(registry, Boolean(args['poll_workers']));
  return { workers, memoryUsage: memoryUsage() };
}
