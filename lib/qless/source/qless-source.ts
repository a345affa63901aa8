import { messageOf } from '../../job/errors.js';
import type { SourceTables } from '../../job/source-tables.js';
import type { Health } from '../../job/health.js';
import type { QueueOverview } from '../../job/job-views.js';
import type {
  Claim,
  FreeSlots,
  JobSource,
  SourceMonitor,
  OnRevoked,
  Outcome,
  SourceLeases,
} from '../../job/job-source.js';
import { ALL_CAPABILITIES } from '../../job/source-capabilities.js';
import type { ChannelHub } from '../../redis/channel-hub.js';
import { RefusedError } from '../../job/server-errors.js';
import type { RedisConnection } from '../../redis/redis-connection.js';
import { isReply } from '../../redis/redis-errors.js';
import { SourceFrame, type Opening } from '../../redis/source-frame.js';
import { Claimer } from './claimer.js';
import { toClaim } from './claims.js';
import type { QlessConnections } from '../connection/connections.js';
import { Locks, renewInterval } from './locks.js';
import { Orphans } from './orphans.js';
import type { AskQless } from '../queues/ask-qless.js';
import { readOverview } from '../queues/queue-overview.js';
import { requireWorkerRights } from '../wire/rights.js';
import * as client from '../wire/scripts.js';
import { Settler } from './settler.js';
import type { QlessSourceOptions } from './source-options.js';
import * as scripts from '../wire/source-scripts.js';
import { showAs } from '../../job/show-as.js';
import { act, open, put } from '../queues/qless-acts.js';
import { readTable, VIEWS } from '../queues/qless-tables.js';

/** How long a question of an overview may take. */
const OVERVIEW_MS = 5000;

/** Runs jobs of a qless; a function is a klass. */
export class QlessSource implements JobSource, SourceMonitor {
  static {
    showAs(QlessSource, ({ address, connections, options: { queues, worker } }) => ({
      server: address,
      prefix: connections.prefix,
      queues,
      worker,
    }));
  }

  readonly monitor = this;
  readonly capabilities = {
    ...ALL_CAPABILITIES,
    count: false,
    options: false,
    snooze: false,
    steps: false,
    limits: false,
  };
  readonly system = 'qless';
  readonly client = 'QlessClient (nestjs-gearmonkey/qless)';
  /** Known once it is open. */
  renewInterval?: number;
  readonly tables: SourceTables;
  readonly leases: SourceLeases;
  private readonly hub: ChannelHub;
  private readonly blocking: RedisConnection;
  private readonly frame: SourceFrame;
  private readonly claimer: Claimer;
  private readonly settler: Settler;
  private readonly locks: Locks;
  private readonly orphans: Orphans;
  private onRevoked: OnRevoked = () => undefined;
  private opening: Promise<void> | undefined;

  constructor(
    private readonly connections: QlessConnections,
    private readonly options: QlessSourceOptions,
  ) {
    const { commands, prefix } = connections;
    const { worker, lock, onProblem } = options;
    this.tables = tablesOf(this.ask);
    this.hub = connections.hub();
    this.blocking = connections.blocking();
    this.frame = new SourceFrame({ commands, hub: this.hub, blocking: this.blocking }, onProblem);
    this.settler = new Settler(commands, prefix, { worker, onProblem });
    const onRevoked: OnRevoked = (claim, why) => this.onRevoked(claim, why);
    this.leases = this.locks = new Locks(connections, this.hub, { worker, lock, onRevoked, onProblem });
    this.orphans = new Orphans(connections, this.settler, this.locks, { worker, onProblem });
    const { blocking, orphans } = this;
    this.claimer = new Claimer(
      { connections, blocking, orphans, onReply: () => this.frame.replied() },
      options,
    );
  }

  get address(): string {
    return this.connections.commands.address;
  }

  health(): Health {
    return this.frame.health();
  }

  reach(timeout: number): Promise<void> {
    return this.frame.reach(timeout);
  }

  overview(): Promise<QueueOverview[]> {
    return readOverview({
      queues: () => this.ask(client.queues),
      next: (name) => this.ask(client.peek, name, 1),
    });
  }

  open(functions: readonly string[], onRevoked: OnRevoked = this.onRevoked): Promise<void> {
    this.onRevoked = onRevoked;
    this.claimer.serve(functions);
    const opened = () =>
      this.frame
        .open((opening) => this.start(opening))
        .catch((error: unknown) => {
          throw isReply(error) ? new RefusedError('The start of a worker', error) : error;
        });
    return (this.opening = this.opening?.catch(opened) ?? opened());
  }

  async claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    const taken = await this.claimer.claim(slots, signal);
    if (!taken) return [];
    const { jobs, token } = taken.claimed;
    const claims = jobs.map((job) => toClaim(job, token));
    this.locks.add(claims, taken.asked);
    return claims;
  }

  renew(claims: readonly Claim[]): Promise<readonly Claim[]> {
    return this.locks.renew(claims);
  }

  async progress(claim: Claim, dividend: number, divisor: number): Promise<boolean> {
    const { commands, prefix } = this.connections;
    const { id, token } = claim;
    const { worker, onProblem } = this.options;
    const held = await commands.insistForJob(
      (redis) => scripts.progress.run(redis, [prefix], '', worker, id, token, dividend, divisor),
      (error) => onProblem(`Progress of job ${id} waits: ${messageOf(error)}`),
    );
    if (!held) this.locks.drop(claim);
    return held;
  }

  async settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]> {
    const refused = await Promise.all(outcomes.map((outcome) => this.settleOne(outcome)));
    return refused.flat();
  }

  async withdraw(functions: readonly string[]): Promise<void> {
    this.claimer.withdraw(functions);
  }

  async close(): Promise<void> {
    if (!this.connections.commands.isClosed) await this.frame.close((opened) => this.signOff(opened));
    this.settler.close();
    await this.locks.close();
    this.hub.close();
    this.blocking.close();
    this.connections.commands.close();
  }

  private readonly ask: AskQless = (script, ...args) => {
    const { commands, prefix } = this.connections;
    return commands.insist((redis) => script.run(redis, [prefix], '', ...args), OVERVIEW_MS);
  };

  private async start({ timeout, subscribed }: Opening): Promise<void> {
    const { commands, prefix } = this.connections;
    await requireWorkerRights(commands, prefix, timeout);
    const config = await commands.insist((redis) => client.config.run(redis, [prefix], ''), timeout);
    const interval = renewInterval(config, this.options);
    if (!this.connections.keeper) this.renewInterval = interval;
    await subscribed(this.locks.open(interval));
  }

  private async signOff(opened: Promise<void>): Promise<void> {
    const { commands, prefix } = this.connections;
    await opened;
    await this.claimer.close();
    this.orphans.suspect();
    await this.orphans.settle();
    await commands.insist((redis) =>
      client.deregisterWorkers.run(redis, [prefix], '', [this.options.worker]),
    );
  }

  /** The lock is kept until its outcome is written. */
  private async settleOne(outcome: Outcome): Promise<Claim[]> {
    try {
      return (await this.settler.settle(outcome)) ? [] : [outcome.claim];
    } finally {
      this.locks.drop(outcome.claim);
    }
  }
}

/** What people see of a qless, and do to it. */
function tablesOf(ask: AskQless): SourceTables {
  return {
    views: VIEWS,
    verbs: ['run', 'retry', 'cancel', 'discard', 'pause', 'resume'],
    enqueue: { fn: 'queue', input: 'data', kind: 'klass', enqueue: (job) => put(ask, job) },
    read: (view, page) => readTable(ask, view, page),
    open: (view, key) => open(ask, view, key),
    act: (request) => act(ask, request),
  };
}
