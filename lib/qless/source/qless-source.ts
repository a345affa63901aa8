import type { Health } from '../../job/health.js';
import type { Claim, FreeSlots, JobSource, OnRevoked, Outcome } from '../../job/job-source.js';
import { ALL_CAPABILITIES } from '../../job/source-capabilities.js';
import type { ChannelHub } from '../../redis/channel-hub.js';
import type { RedisConnection } from '../../redis/redis-connection.js';
import { isReply, isTransientReply } from '../../redis/redis-errors.js';
import { pauseAfter } from '../../redis/retry.js';
import { SourceFrame, type Opening } from '../../redis/source-frame.js';
import { toClaim } from './claims.js';
import type { QlessConnections } from '../connection/connections.js';
import { Locks, renewInterval } from './locks.js';
import { Orphans } from './orphans.js';
import { QueueWaiter } from '../queues/queue-waiter.js';
import { deregisterWorkers, config as readConfig } from '../wire/scripts.js';
import { Settler } from './settler.js';
import type { Claimed } from '../wire/replies.js';
import { claimArguments } from '../wire/requests.js';
import * as scripts from '../wire/source-scripts.js';
import { showAs } from '../../job/show-as.js';

export interface QlessSourceOptions {
  readonly queues: readonly string[];
  readonly popping: 'ordered' | 'round-robin';
  /** This worker's name, unique among all workers. */
  readonly worker: string;
  /** Seconds, or '' for the heartbeat of each queue. */
  readonly lock: number | '';
  readonly onProblem: (message: string) => void;
}

/** A worker that can't take the job it was woken for wakes another, but at most this often. */
const WAKE_OTHERS_MS = 1000;
const MAX_NAMED = 1000;

/** Runs jobs of a qless; a function is a klass. */
export class QlessSource implements JobSource {
  static {
    showAs(QlessSource, ({ address, connections, options: { queues, worker } }) => ({
      server: address,
      prefix: connections.prefix,
      queues,
      worker,
    }));
  }

  readonly capabilities = { ...ALL_CAPABILITIES, count: false, options: false, snooze: false };
  readonly client = 'QlessClient (nestjs-gearmonkey/qless)';
  /** Known once it is open. */
  renewInterval?: number;
  private readonly functions = new Set<string>();
  private readonly hub: ChannelHub;
  private readonly blocking: RedisConnection;
  private readonly frame: SourceFrame;
  private readonly waiter: QueueWaiter;
  private readonly settler: Settler;
  private readonly locks: Locks;
  private readonly orphans: Orphans;
  private readonly offsets: number[];
  private readonly named = new Set<string>();
  private onRevoked: OnRevoked = () => undefined;
  private opening: Promise<void> | undefined;
  private first = 1;
  private wokeOthersAt = -Infinity;

  constructor(
    private readonly connections: QlessConnections,
    private readonly options: QlessSourceOptions,
  ) {
    const { commands, prefix } = connections;
    const { worker, lock, queues, onProblem } = options;
    this.hub = connections.hub();
    this.blocking = connections.blocking();
    this.frame = new SourceFrame({ commands, hub: this.hub, blocking: this.blocking }, onProblem);
    this.waiter = new QueueWaiter({ prefix, commands, blocking: this.blocking }, queues);
    this.settler = new Settler(commands, prefix, worker);
    const onRevoked: OnRevoked = (claim, why) => this.onRevoked(claim, why);
    this.locks = new Locks(connections, this.hub, { worker, lock, onRevoked, onProblem });
    this.orphans = new Orphans(connections, this.settler, this.locks, { worker, onProblem });
    this.offsets = queues.map(() => 0);
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

  open(functions: readonly string[], onRevoked: OnRevoked = this.onRevoked): Promise<void> {
    this.onRevoked = onRevoked;
    for (const fn of functions) this.functions.add(fn);
    this.opening ??= this.frame.open((opening) => this.start(opening));
    return this.opening;
  }

  async claim(slots: FreeSlots, signal: AbortSignal): Promise<readonly Claim[]> {
    let [woken, changed] = [false, false];
    const ignoreSlots = slots.onFree(() => {
      changed = true;
      this.waiter.interrupt();
    });
    try {
      while (!signal.aborted) {
        if (!(await this.reached(signal))) break;
        changed = false;
        const claimed = await this.ask(slots, woken, signal);
        if (claimed === undefined) continue;
        if (claimed.jobs.length > 0) return this.begin(claimed);
        const wait = claimed.due === undefined ? Infinity : claimed.due * 1000;
        woken = !changed && (await this.waiter.wait(wait, signal));
      }
      return [];
    } finally {
      ignoreSlots();
    }
  }

  renew(claims: readonly Claim[]): Promise<readonly Claim[]> {
    return this.locks.renew(claims);
  }

  setDeadline(claim: Claim, ms: number): void {
    this.locks.setDeadline(claim, ms);
  }

  async progress(claim: Claim, dividend: number, divisor: number): Promise<boolean> {
    const { commands, prefix } = this.connections;
    const { id, token } = claim;
    const held = await commands.insist((redis) =>
      scripts.progress.run(redis, [prefix], '', this.options.worker, id, token, dividend, divisor),
    );
    if (!held) this.locks.drop(claim);
    return held;
  }

  async settle(outcomes: readonly Outcome[]): Promise<readonly Claim[]> {
    const refused = await Promise.all(outcomes.map((outcome) => this.settleOne(outcome)));
    return refused.flat();
  }

  async withdraw(functions: readonly string[]): Promise<void> {
    for (const fn of functions) this.functions.delete(fn);
  }

  async close(): Promise<void> {
    if (!this.connections.commands.isClosed) await this.frame.close((opened) => this.signOff(opened));
    this.settler.close();
    await this.locks.close();
    this.hub.close();
    this.blocking.close();
    this.connections.commands.close();
  }

  private async start({ timeout, subscribed }: Opening): Promise<void> {
    const { commands, prefix } = this.connections;
    const config = await commands.insist((redis) => readConfig.run(redis, [prefix], ''), timeout);
    const interval = renewInterval(config, this.options);
    if (!this.connections.keeper) this.renewInterval = interval;
    await subscribed(this.locks.open(interval));
  }

  private async signOff(opened: Promise<void>): Promise<void> {
    const { commands, prefix } = this.connections;
    await opened;
    await this.waiter.close();
    this.orphans.suspect();
    await this.orphans.settle();
    await commands.insist((redis) => deregisterWorkers.run(redis, [prefix], '', [this.options.worker]));
  }

  /** False when the signal aborts before the server is reached. */
  private async reached(signal: AbortSignal): Promise<boolean> {
    const { commands } = this.connections;
    if (commands.isReady) return true;
    let stop = (): void => undefined;
    const aborted = new Promise<boolean>((resolve) => {
      stop = () => resolve(false);
      signal.addEventListener('abort', stop);
    });
    const ready = commands.ready().then(() => true);
    return Promise.race([ready, aborted]).finally(() => signal.removeEventListener('abort', stop));
  }

  /** Undefined when the caller should try again. @throws replies of Redis that waiting doesn't change */
  private async ask(slots: FreeSlots, woken: boolean, signal: AbortSignal): Promise<Claimed | undefined> {
    try {
      await this.orphans.settle();
      return await this.take(slots, woken);
    } catch (error) {
      if (!isReply(error)) this.orphans.unclear(error);
      else if (!isTransientReply(error)) throw error;
      await pauseAfter(error, signal);
      return undefined;
    }
  }

  private async take(slots: FreeSlots, woken: boolean): Promise<Claimed> {
    const { commands, prefix } = this.connections;
    const { worker, lock, popping, queues } = this.options;
    const free = slots.functions().map((fn) => [fn, slots.of(fn)] as const);
    const count = this.orphans.most(free.reduce((sum, [, slotsOfOne]) => sum + slotsOfOne, 0));
    const wakeOthers = woken && performance.now() - this.wokeOthersAt > WAKE_OTHERS_MS;
    if (wakeOthers) this.wokeOthersAt = performance.now();
    const request = claimArguments({
      ...{ worker, lock, popping, count, first: this.first, waiter: this.waiter.id, wakeOthers, slots: free },
      queues: queues.map((queue, index) => [queue, this.offsets[index] ?? 0]),
    });
    const claimed = await scripts.claim.run(await commands.ready(), [prefix], '', ...request);
    this.orphans.read();
    this.frame.replied();
    this.first = claimed.first;
    claimed.offsets.forEach((offset, index) => (this.offsets[index] = offset));
    if (claimed.jobs.length === 0 && claimed.due !== 0) this.waiter.registered();
    this.reportUnknownKlasses(claimed.left);
    return claimed;
  }

  private begin({ jobs, token }: Claimed): Claim[] {
    const claims = jobs.map((job) => toClaim(job, token));
    this.locks.add(claims);
    return claims;
  }

  /** The lock is kept until its outcome is written. */
  private async settleOne(outcome: Outcome): Promise<Claim[]> {
    try {
      return (await this.settler.settle(outcome)) ? [] : [outcome.claim];
    } finally {
      this.locks.drop(outcome.claim);
    }
  }

  private reportUnknownKlasses(klasses: readonly string[]): void {
    for (const klass of klasses) {
      if (this.functions.has(klass) || this.named.has(klass) || this.named.size > MAX_NAMED) continue;
      this.named.add(klass);
      this.options.onProblem(
        `Jobs of klass "${klass}" wait in ${this.options.queues.join(', ')}, and no handler here takes them. ` +
          'They are left to other workers.',
      );
    }
  }
}
