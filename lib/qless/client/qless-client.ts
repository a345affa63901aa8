import { defined } from '../../job/defined.js';
import { toMilliseconds, type Duration } from '../../job/duration.js';
import { InvalidOptionError, messageOf } from '../../job/errors.js';
import { checkOptions, optionNames } from '../../job/known-options.js';
import type { QueueOverview } from '../../job/job-views.js';
import { ping, type Health } from '../../job/health.js';
import type { RedisConnection } from '../../redis/redis-connection.js';
import type { ChannelHub } from '../../redis/channel-hub.js';
import { QlessCalls } from './calls.js';
import { openConnections, type QlessConnections, type QlessServer } from '../connection/connections.js';
import { QlessConfig } from './qless-config.js';
import { QlessEvents } from './qless-events.js';
import { QlessJobs } from './qless-jobs.js';
import { QlessPopper, type PopperOptions } from './qless-popper.js';
import { QlessQueue } from './qless-queue.js';
import { QlessRecurring } from './qless-recurring.js';
import { QlessWorkers } from './qless-workers.js';
import { readOverview } from '../queues/queue-overview.js';
import type { Consistency, QueueCounts } from '../wire/replies.js';
import * as scripts from '../wire/scripts.js';
import { workerName } from '../connection/worker-name.js';
import { showAs } from '../../job/show-as.js';

/** Options of `QlessClient` and `QlessModule.forRoot`. */
export interface QlessClientOptions extends QlessServer {
  /** The name of the worker that pops, unless a popper has its own. @default host, process id and a random part */
  worker?: string;
  /** How long a call may take, an outage included. @default '5s' */
  timeout?: Duration;
  /** Returns the time that all calls use. @default the server's clock */
  clock?: () => Date;
}

const KNOWN = optionNames<QlessClientOptions>({
  connection: true,
  prefix: true,
  worker: true,
  timeout: true,
  clock: true,
});
const CONSISTENCY = optionNames<{ resolve?: boolean }>({ resolve: true });

/** The whole API of qless, typed. It has one connection, a second for events, and one for each waiting pop. */
export class QlessClient {
  static {
    showAs(QlessClient, (client) => ({
      server: client.#connections.commands.address,
      prefix: client.#connections.prefix,
      worker: client.worker,
    }));
  }

  readonly jobs: QlessJobs;
  readonly recurring: QlessRecurring;
  readonly workers: QlessWorkers;
  readonly config: QlessConfig;
  readonly events: QlessEvents;
  /** The name of the worker that pops, unless a popper has its own. */
  readonly worker: string;
  readonly #connections: QlessConnections;
  private readonly calls: QlessCalls;
  readonly #hub: ChannelHub;
  readonly #idle: RedisConnection[] = [];
  readonly #blocking = new Set<RedisConnection>();

  /** @throws ConfigurationError, InvalidOptionError */
  constructor(given: QlessClientOptions) {
    const {
      worker = workerName(),
      timeout = '5s',
      clock,
      ...server
    } = checkOptions('QlessClient', given, KNOWN);
    const options = { timeout: toMilliseconds('timeout', timeout), clock };
    if (clock !== undefined && typeof clock !== 'function')
      throw new InvalidOptionError('clock', clock, 'a function that returns a Date');
    this.#connections = openConnections(server);
    this.calls = new QlessCalls(this.#connections, options);
    this.#hub = this.#connections.hub();
    this.worker = worker;
    this.jobs = new QlessJobs(this.calls);
    this.recurring = new QlessRecurring(this.calls);
    this.workers = new QlessWorkers(this.calls);
    this.config = new QlessConfig(this.calls);
    this.events = new QlessEvents(this.#hub, this.#connections.prefix);
  }

  /** Returns a queue. Nothing is sent. */
  queue(name: string): QlessQueue {
    return new QlessQueue(this.calls, name, () => this.popper([name]));
  }

  /** Returns all queues, with how many of their jobs are in each state. */
  queues(): Promise<QueueCounts[]> {
    return this.calls.sendRetrying(scripts.queues);
  }

  /** Returns all queues in the form of all systems. A job whose lock has expired counts as waiting. */
  overview(): Promise<QueueOverview[]> {
    return readOverview({
      queues: () => this.queues(),
      next: (name) => this.calls.sendRetrying(scripts.peek, name, 1),
    });
  }

  /** Returns a popper of several queues: in their order, or one job of each in turn. @throws ConfigurationError, InvalidOptionError */
  popper(
    queues: readonly string[],
    options: Partial<Pick<PopperOptions, 'popping' | 'worker'>> = {},
  ): QlessPopper {
    const blocking = {
      take: () => this.takeBlocking(),
      giveBack: (connection: RedisConnection) => void this.#idle.push(connection),
    };
    return new QlessPopper(this.calls, blocking, { queues, worker: this.worker, ...options });
  }

  /** Finds inconsistencies, and repairs them with `resolve`. @throws ConfigurationError, ConnectionError */
  async checkConsistency(options: { resolve?: boolean } = {}): Promise<Omit<Consistency, 'cursor'>> {
    const { resolve = false } = checkOptions('checkConsistency', options, CONSISTENCY);
    const problems = [];
    let [checked, cursor] = [0, ''];
    do {
      const part = await this.calls.sendRetrying(scripts.checkConsistency, resolve ? 'resolve' : '', cursor);
      checked += part.checked;
      problems.push(...part.problems);
      cursor = part.cursor;
    } while (cursor !== '');
    return { checked, problems };
  }

  /**
   * Sends Redis a request, and connects first if needed: for readiness probes. Rejects only for a wrong `timeout`.
   *
   * @param timeout @default '1s'
   * @throws InvalidOptionError
   */
  ping(timeout: Duration = '1s'): Promise<Health> {
    const { commands } = this.#connections;
    const health = () => {
      const problem = commands.trouble === undefined ? undefined : messageOf(commands.trouble);
      return defined({ connected: commands.isReady, server: commands.address, problem });
    };
    return ping({ health, reach: (ms) => commands.reach(ms) }, timeout);
  }

  /** Closes the connections. Calls under way reject. */
  close(): void {
    this.#hub.close();
    for (const connection of this.#blocking) connection.close();
    this.#connections.commands.close();
  }

  private takeBlocking(): RedisConnection {
    const connection = this.#idle.pop() ?? this.#connections.blocking();
    this.#blocking.add(connection);
    return connection;
  }
}
