import { Redis } from 'ioredis';
import { Raw } from '../../../lib/jq/message-pack/raw.js';
import { pack, type Packable } from '../../../lib/jq/message-pack/pack.js';
import * as operations from '../../../lib/jq/engine/operations.js';
import type { Limits } from '../../../lib/jq/constraints/limits.js';
import type { HandedJob, Operation, PushOutcome } from '../../../lib/jq/engine/operations.js';
import { engineSettings, packSettings, type EngineOptions } from '../../../lib/jq/engine/settings.js';
import { turn, type TurnReply } from '../../../lib/jq/engine/turn.js';
import type { EnqueueRequest, RegisterRequest } from '../../../lib/jq/wire/requests.js';

export const NO_LIMITS: Limits = { version: '0', limits: [] };
const SEED = 1;
const MANY = 10_000;

/** The engine's scripts in virtual time: nothing happens but what a test asks for. */
export class EngineRig {
  /** Milliseconds. */
  now = 1_000_000_000;
  private workers = 0;
  private readonly settings: Buffer;

  constructor(
    private readonly redis: Redis,
    readonly prefix: string,
    options: EngineOptions = {},
  ) {
    this.settings = packSettings(engineSettings({ maxPushes: MANY, ...options }));
  }

  async turn(
    list: readonly Operation<unknown>[],
    { sweep = false, pushes = 0 }: { sweep?: boolean; pushes?: number } = {},
  ): Promise<TurnReply> {
    const flat = list.flatMap(({ name, args }) => [name, args.length, ...args]);
    const flags = [SEED, sweep ? 1 : 0, pushes] as const;
    const reply = await turn.run(this.redis, [this.prefix], this.now, this.settings, ...flags, flat);
    return reply;
  }

  async run<Reply>(operation: Operation<Reply>): Promise<Reply> {
    const { replies } = await this.turn([operation]);
    const [reply] = replies;
    if (Array.isArray(reply) && String(reply[0]) === 'failed') throw new Error(String(reply[1]));
    return operation.decode(reply);
  }

  async enqueue(job: Partial<EnqueueRequest> = {}, limits = NO_LIMITS): Promise<string> {
    const request = { ...DEFAULTS, argument: Raw.EMPTY_MAP, ...job };
    const reply = await this.run(operations.enqueue(request, '00000000', limits));
    if (reply.status !== 'created') throw new Error(`The job was not created: ${reply.status}`);
    return reply.id;
  }

  /** A worker to push to, unless it says otherwise. */
  async worker(worker: Partial<RegisterRequest> = {}): Promise<string> {
    const id = (this.workers += 1).toString(16).padStart(16, '0');
    await this.run(operations.register(id, { name: 'w', maxJobs: 1, url: 'http://w', ...worker }));
    return id;
  }

  async puller(worker: Partial<RegisterRequest> = {}): Promise<string> {
    const id = (this.workers += 1).toString(16).padStart(16, '0');
    await this.run(operations.register(id, { name: 'p', maxJobs: 1, ...worker }));
    return id;
  }

  /** What a puller gets: it has come to its master. */
  async pull(puller: string): Promise<operations.Pulled> {
    const pulled = await this.run(operations.pull(puller));
    if (pulled.job) await this.run(operations.accept(pulled.job));
    return pulled;
  }

  /** Everything that can be handed out now. */
  async handOut(pushes = 100): Promise<readonly HandedJob[]> {
    const handed: HandedJob[] = [];
    for (;;) {
      const reply = await this.turn([], { pushes });
      handed.push(...reply.handed);
      if (!reply.more || handed.length >= pushes) return handed;
    }
  }

  /** The one job that is handed out now. */
  async handOutOne(): Promise<HandedJob> {
    const [job, ...others] = await this.handOut();
    if (!job || others.length > 0) throw new Error(`Expected one job, got ${others.length + (job ? 1 : 0)}`);
    return job;
  }

  async accepted(): Promise<HandedJob> {
    const job = await this.handOutOne();
    await this.answer(job, 'accepted');
    return job;
  }

  answer(job: HandedJob, status: Exclude<PushOutcome['status'], 'busy' | 'invalid'>): Promise<void> {
    return this.run(operations.answer(job, { status }));
  }

  /** Lets time pass in which masters swept each second, and sees to what falls due. */
  async pass(ms: number): Promise<void> {
    this.now += ms;
    await this.redis.setnx(`${this.prefix}swept`, 0);
    await this.sweep();
  }

  /** Lets time pass in which no master reached Redis, and sees to what falls due. */
  async outage(ms: number): Promise<void> {
    this.now += ms;
    await this.redis.del(`${this.prefix}swept`);
    await this.sweep();
  }

  private async sweep(): Promise<void> {
    for (let more = true; more;) ({ more } = await this.turn([], { sweep: true }));
  }

  view(id: string): Promise<operations.JobView | undefined> {
    return this.run(operations.read(id));
  }

  succeed(job: Pick<HandedJob, 'id' | 'worker'>, result: Packable = null, attempt?: number) {
    const report = { jobId: job.id, type: 'success', result: new Raw(pack(result)) } as const;
    return this.run(
      operations.done(job.worker, { ...report, ...(attempt === undefined ? {} : { attempt }) }),
    );
  }

  fail(job: Pick<HandedJob, 'id' | 'worker'>, { shouldRetry = true, message = 'boom', attempt = 0 } = {}) {
    const report = { jobId: job.id, type: 'failure', reason: 'other', shouldRetry, message } as const;
    const extra = { error: Raw.NIL, ...(attempt > 0 ? { attempt } : {}) };
    return this.run(operations.done(job.worker, { ...report, ...extra }));
  }
}

const DEFAULTS = { name: 'mail', priority: 0, maxRetry: 10, keepResult: true, timeout: 30 };
