import { ChannelHub, type ChannelListener } from '../../redis/channel-hub.js';
import type { ConnectionSpec } from '../../redis/connect.js';
import { RedisConnection } from '../../redis/redis-connection.js';
import { Administration } from './administration.js';
import { ConstraintStore } from './constraint-store.js';
import type { DoneRequest, EnqueueRequest, HandOut, RegisterRequest } from '../wire/requests.js';
import { clientLimit, KeyReusedError, QueueFullError } from './engine-errors.js';
import { EngineLife } from './engine-life.js';
import { isJobId, isWorkerId, jobIdSuffix, newWorkerId } from './ids.js';
import { LongPolls } from './long-polls.js';
import * as operations from './operations.js';
import type { HandedJob, JobView, PushOutcome, Reported, StaleJob } from './operations.js';
import { engineSettings, packSettings, type EngineOptions, type EngineSettings } from './settings.js';
import { type Probe, type Tally, type TurnReply, turn } from './turn.js';
import { TurnQueue } from './turn-queue.js';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../job/errors.js';
import { requireRights, type Call } from '../../redis/rights.js';

/** The hash tag keeps all keys together on a cluster. */
const DEFAULT_PREFIX = '{jq}:';

/** The longest time between two sweeps. */
const LONGEST_SLEEP_MS = 1000;
/** How often an enqueue is tried again because constraints have changed. */
const MAX_STALE = 20;
export interface JqEngineOptions extends EngineOptions {
  readonly connection: ConnectionSpec;
  /** The prefix of all keys and channels. @default '{jq}:' */
  readonly prefix?: string;
  /** Milliseconds since 1970; for tests. @default the clock of the server, which all masters share */
  readonly now?: () => number;
  /** Called with jobs to push to their workers. Report how each push ended with `answer`. */
  readonly onHanded?: (jobs: readonly HandedJob[]) => void;
  /** Called with workers that were silent for long; report each with `probed`. */
  readonly onProbes?: (probes: readonly Probe[]) => void;
  /** Called for each of this master's turns. */
  readonly onTally?: (tally: Tally) => void;
  readonly onProblem?: (message: string) => void;
}

/** The state and decisions of all masters on one Redis. All state is in Redis. */
export class JqEngine {
  readonly settings: EngineSettings;
  readonly constraints: ConstraintStore;
  readonly administration: Administration;
  private readonly connection: RedisConnection;
  private readonly hub: ChannelHub;
  private readonly turns: TurnQueue;
  private readonly prefix: string;
  private readonly polls: LongPolls;
  /** Kept, so that a second `start` adds no second listener. */
  private readonly listeners: readonly (readonly [channel: string, ChannelListener])[] = [
    ['ended', { message: (id) => this.polls.wakeEnd(id), resync: () => this.polls.wakeAll() }],
    ['ready', { message: (topics) => this.polls.wakePulls(topics) }],
    ['constraints', { message: () => this.reloadConstraints(), resync: () => this.reloadConstraints() }],
  ];
  private readonly reassignment: LaneReassignment;
  private readonly life = new EngineLife();
  private readonly sweepTimer = new SweepTimer(() => this.sweep());
  /** Its connection may hold a password. */
  readonly #options: JqEngineOptions;

  /** @throws InvalidOptionError, ConfigurationError */
  constructor(options: JqEngineOptions) {
    this.#options = options;
    this.settings = engineSettings(options);
    this.prefix = options.prefix ?? DEFAULT_PREFIX;
    const { onProblem } = options;
    const log = onProblem && { warn: onProblem };
    this.connection = new RedisConnection(options.connection, 'jq', log);
    const subscriber = new RedisConnection(options.connection, 'jq-subscriber');
    this.connection.onDemoted(() => subscriber.renew());
    this.hub = new ChannelHub(subscriber, log);
    this.turns = new TurnQueue(this.connection, {
      prefix: this.prefix,
      settings: packSettings(this.settings),
      now: options.now,
      life: this.life,
      handsOut: () => this.handsOut,
      onTurn: (reply) => this.onTurn(reply),
      onProblem: options.onProblem,
    });
    this.polls = new LongPolls(this.turns, this.life, () => this.reassignment.underWay);
    this.constraints = new ConstraintStore(this.turns);
    this.reassignment = new LaneReassignment(this.constraints, () => this.turns.want('turn'), onProblem);
    this.administration = new Administration(this.turns);
  }

  /**
   * Waits for Redis, then begins to hand out jobs. May be tried again.
   *
   * @throws ConfigurationError if its user lacks a right, and Redis' error if it refuses a channel
   */
  async start(): Promise<void> {
    await requireMasterRights(this.connection, this.prefix);
    await Promise.all([
      ...this.listeners.map(([channel, listener]) => this.hub.listen(this.prefix + channel, listener)),
      this.constraints.loadUntilAnswered(),
      this.turns.run(operations.adopt()),
    ]);
    if (this.life.enter('running')) this.sweep();
  }

  /** Whether it hands out jobs, and is subscribed to other masters. */
  get isStarted(): boolean {
    return this.life.mode === 'running';
  }

  /** Whether Redis takes a write within so many milliseconds. A former master, now a replica, would only answer reads. */
  async answers(timeout: number): Promise<boolean> {
    try {
      await this.connection.insist((redis) => redis.del(`${this.prefix}full`), timeout);
      return true;
    } catch {
      return false;
    }
  }

  /**
   * The new job's id, or the id of the job that was made with the same key.
   *
   * @throws QueueFullError, KeyReusedError, EngineUnavailableError
   */
  async enqueue(request: EnqueueRequest, key?: string): Promise<string> {
    const suffix = jobIdSuffix();
    for (let attempt = 1; attempt <= MAX_STALE; attempt++) {
      const limits = this.constraints.current.limitsOf(request);
      const reply = await this.turns.run(operations.enqueue(request, suffix, limits, key));
      if (reply.status === 'created') return reply.id;
      if (reply.status === 'reused') throw new KeyReusedError();
      if (reply.status === 'full') break;
      await this.constraints.refresh();
    }
    throw new QueueFullError();
  }

  /** `undefined` for a job that never existed or was forgotten. Reading a kept result starts the time to its removal; peeking does not. */
  async read(id: string, mode: 'read' | 'peek' = 'read'): Promise<JobView | undefined> {
    return isJobId(id) ? this.turns.run(operations.read(id, mode)) : undefined;
  }

  /** The job once it has ended, or its state when the time is over or the signal aborts. */
  async poll(id: string, ms: number, signal?: AbortSignal): Promise<JobView | undefined> {
    return isJobId(id) ? this.polls.end(id, ms, signal) : undefined;
  }

  async cancel(id: string): Promise<'cancelled' | 'missing' | 'conflict'> {
    return isJobId(id) ? this.turns.run(operations.cancel(id)) : 'missing';
  }

  /**
   * The new worker's id, or that of the worker that was registered like this with the same key; `undefined` if there are too
   * many workers.
   *
   * @throws ClientLimitError
   */
  async register(request: RegisterRequest, client = '', key?: string): Promise<string | undefined> {
    const worker = newWorkerId(key === undefined ? undefined : { ...request, client, key });
    const outcome = await this.turns.run(operations.register(worker, request, client));
    if (outcome === 'client workers' || outcome === 'client jobs') throw clientLimit(outcome, this.settings);
    return outcome === 'registered' ? worker : undefined;
  }

  /** Removes a worker; its jobs are queued again. False for an unknown worker. */
  async unregister(worker: string): Promise<boolean> {
    return isWorkerId(worker) && this.turns.run(operations.unregister(worker));
  }

  async ping(worker: string): Promise<boolean> {
    return isWorkerId(worker) && this.turns.run(operations.ping(worker));
  }

  /** Returns a job; `undefined` when the time is over or the signal aborts; or why the worker can get none. */
  async pull(
    worker: string,
    ms: number,
    signal?: AbortSignal,
    count = operations.UNCOUNTED,
  ): Promise<HandedJob | undefined | 'unknown worker'> {
    return isWorkerId(worker) ? this.polls.pull(worker, ms, signal, count) : 'unknown worker';
  }

  async done(worker: string, request: DoneRequest): Promise<Reported> {
    if (!isWorkerId(worker)) return 'unknown worker';
    if (!isJobId(request.jobId)) return 'unknown job';
    return this.turns.run(operations.done(worker, request));
  }

  /** Puts a job back that its worker has not begun. False if it is unknown, or not the worker's. */
  async release(worker: string, request: HandOut): Promise<boolean> {
    if (!isWorkerId(worker) || !isJobId(request.jobId)) return false;
    return this.turns.run(operations.release(worker, request));
  }

  /** Whether a job that a worker begins now is still the worker's. Its time counts anew. */
  async confirm(worker: string, request: HandOut): Promise<boolean> {
    if (!isWorkerId(worker) || !isJobId(request.jobId)) return false;
    return this.turns.run(operations.confirm(worker, request));
  }

  /** Records how the push of a job ended, retrying until Redis takes it. */
  answer(job: HandedJob, outcome: PushOutcome): Promise<void> {
    return this.turns.run(operations.answer(job, outcome));
  }

  /** Records whether a worker of `onProbes` is there, retrying until Redis takes it. */
  probed(worker: string, answer: 'there' | 'gone' | 'nothing'): Promise<void> {
    return this.turns.run(operations.probed(worker, answer));
  }

  /** Handles what has fallen due, and hands out jobs. */
  sweep(): void {
    this.sweepTimer.clear();
    this.turns.want('sweep');
    this.sweepWithin(LONGEST_SLEEP_MS);
  }

  /** Hands out no more jobs, answers waiting requests with the present state, and lets no more wait. */
  stop(): void {
    if (this.life.enter('stopping')) this.polls.wakeAll();
  }

  async close(): Promise<void> {
    this.stop();
    this.life.enter('closing');
    this.sweepTimer.clear();
    await this.turns.settled();
    this.life.enter('closed');
    this.hub.close();
    this.connection.close();
  }

  /** Not while jobs are matched with changed constraints, since one of them may be next. */
  private get handsOut(): boolean {
    return this.life.may('hand out') && !this.reassignment.underWay && this.#options.onHanded !== undefined;
  }

  private onTurn({ handed, stale, wait, tally, probes }: TurnReply): void {
    this.#options.onTally?.(tally);
    if (probes.length > 0) this.#options.onProbes?.(probes);
    if (handed.length > 0) this.#options.onHanded?.(handed);
    if (stale.length > 0) this.reassignment.begin(stale);
    if (wait >= 0) this.sweepWithin(wait);
  }

  private sweepWithin(ms: number): void {
    if (this.life.may('sweep')) this.sweepTimer.within(ms);
  }

  private reloadConstraints(): void {
    this.constraints.loadUntilAnswered().then(
      () => this.turns.want('sweep'),
      () => undefined,
    );
  }
}

/** The pause before failed matches are tried again. */
const PAUSE_MS = 1000;

/** Matches jobs anew after constraints have changed, a batch at a time. */
class LaneReassignment {
  /** Set while jobs are matched. No job is handed out meanwhile, since the next one may be among them. */
  underWay?: Promise<void>;

  constructor(
    private readonly constraints: ConstraintStore,
    private readonly onDone: () => void,
    private readonly onProblem: ((message: string) => void) | undefined,
  ) {}

  begin(jobs: readonly StaleJob[]): void {
    this.underWay ??= this.reassign(jobs);
  }

  private async reassign(jobs: readonly StaleJob[]): Promise<void> {
    try {
      await this.constraints.reassignLanes(jobs, ({ id }, error) => this.complain(`Job ${id}`, error));
    } catch (error) {
      this.complain('Jobs', error);
      await delay(PAUSE_MS, undefined, { ref: false });
    } finally {
      delete this.underWay;
      this.onDone();
    }
  }

  private complain(what: string, error: unknown): void {
    this.onProblem?.(`${what} could not be matched with the constraints: ${messageOf(error)}`);
  }
}

/** The commands in the script's text. */
const COMMANDS = new Set([...turn.text.matchAll(/\bcall\('([A-Z]+)'/g)].map(([, command = '']) => command));

/** Waits for Redis. @throws ConfigurationError that names missing rights */
function requireMasterRights(connection: RedisConnection, prefix: string): Promise<void> {
  const name = `${prefix}x`;
  const calls: Call[] = [...COMMANDS].map((command): Call => {
    if (command === 'TIME') return [command];
    if (command === 'RENAME') return [command, name, name];
    return command === 'ZUNIONSTORE' ? [command, name, '1', name] : [command, name];
  });
  calls.push(['EVALSHA', 'x', '1', prefix], ['EVAL', 'x', '0'], ['PUBLISH', name]);
  calls.push(['SUBSCRIBE', name], ['PING']);
  return connection.insist((redis) => requireRights(redis, calls, 'a master of JQ'));
}

/** Calls back once, at the earliest of the given times. */
class SweepTimer {
  private timer: NodeJS.Timeout | undefined;
  private at = Infinity;

  constructor(private readonly onDue: () => void) {}

  /** @param ms from now */
  within(ms: number): void {
    const at = performance.now() + ms;
    if (at >= this.at) return;
    this.clear();
    this.at = at;
    this.timer = setTimeout(this.onDue, ms);
  }

  clear(): void {
    clearTimeout(this.timer);
    this.at = Infinity;
  }
}
