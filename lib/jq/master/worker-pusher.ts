import { Inject, Injectable } from '@nestjs/common';
import { messageOf } from '../../job/errors.js';
import { nestLog } from '../../nest/nest-log.js';
import type { JqEngine } from '../engine/engine.js';
import type { Probe } from '../engine/turn.js';
import type { HandedJob, PushOutcome } from '../engine/operations.js';
import type { Exchanged } from '../http/exchange.js';
import { pack } from '../message-pack/pack.js';
import { fitting, MAX_BATCH, packBatch, readVerdicts, type Verdict } from '../wire/batch.js';
import { formatOf } from '../wire/media-type.js';
import { restOf } from '../wire/retry-after.js';
import { JqMetrics } from './metrics/jq-metrics.js';
import { MASTER_SETTINGS, type MasterSettings } from './master-options.js';
import { isForbidden, PushSender, type Unanswered } from './push-sender.js';
import { workerJob } from './worker-job.js';

/** Statuses that mean a batch was not understood; others concern the worker, or only this moment. */
const REFUSALS = new Set([400, 404, 405, 413, 415, 422]);

/** A job, and the body of its push. */
interface Push {
  readonly job: HandedJob;
  readonly body: Buffer;
}

type WorkerAddress = Pick<HandedJob, 'url' | 'worker'>;

/** Pushes jobs to workers. Jobs of a turn for one worker go together if it takes batches. */
@Injectable()
export class WorkerPusher {
  private readonly log = nestLog('JqMaster');
  private readonly sender: PushSender;
  private readonly underWay = new Set<Promise<void>>();

  constructor(
    @Inject(MASTER_SETTINGS) private readonly settings: MasterSettings,
    private readonly metrics: JqMetrics,
  ) {
    this.sender = new PushSender(settings);
  }

  /** Pushes all jobs, and records how each push ended. */
  pushAll(engine: JqEngine, jobs: readonly HandedJob[]): void {
    for (const pushes of requestsOf(jobs)) {
      const done = this.push(pushes)
        .then((outcomes) =>
          Promise.all(pushes.map(({ job }, i) => engine.answer(job, outcomes[i] ?? { status: 'silent' }))),
        )
        // Fails only when the master shuts down; the push's lease expires then.
        .catch(() => undefined)
        .then(() => void this.underWay.delete(done));
      this.underWay.add(done);
    }
  }

  /** Asks workers whether they are there: any answer but 410 means yes. */
  probeAll(engine: JqEngine, probes: readonly Probe[]): void {
    for (const { worker, url } of probes) {
      const done = this.sender
        .probe(url, this.settings.pushTimeout)
        .then((reply) => engine.probed(worker, probedAs(reply)))
        .catch(() => undefined)
        .then(() => void this.underWay.delete(done));
      this.underWay.add(done);
    }
  }

  /** Resolves when every push has ended and was reported. */
  async idle(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay);
  }

  close(): Promise<void> {
    return this.sender.close();
  }

  private async push(pushes: readonly Push[]): Promise<readonly PushOutcome[]> {
    const begun = performance.now();
    const deadline = begun + this.settings.pushTimeout;
    const [first, second] = pushes;
    if (!first) return [];
    const outcomes = second
      ? await this.pushBatch(first.job, pushes, deadline)
      : [await this.pushOne(first, deadline)];
    const took = performance.now() - begun;
    for (const { status } of outcomes) this.metrics.pushed(status, took);
    return outcomes;
  }

  private async pushOne({ job, body }: Push, deadline: number): Promise<PushOutcome> {
    return outcomeOf(await this.send(job, body, deadline, true));
  }

  /** A single answer counts for every job, except a refusal of the batch: the jobs are then pushed one by one. */
  private async pushBatch(
    worker: WorkerAddress,
    pushes: readonly Push[],
    deadline: number,
  ): Promise<readonly PushOutcome[]> {
    const reply = await this.send(worker, packBatch(pushes.map(({ body }) => body)), deadline, false);
    if (reply.status === 200 && 'body' in reply) return outcomesOf(reply, pushes.length);
    if (typeof reply.status === 'number' && REFUSALS.has(reply.status)) {
      return Promise.all(pushes.map((push) => this.pushOne(push, deadline)));
    }
    return shared(outcomeOf(reply), pushes.length);
  }

  private async send(
    { url, worker }: WorkerAddress,
    body: Buffer,
    deadline: number,
    headOnly: boolean,
  ): Promise<Exchanged | Unanswered> {
    const timeout = Math.max(0, deadline - performance.now());
    const reply = await this.sender.send({ url, body, timeout, headOnly });
    if ('error' in reply && isForbidden(reply.error)) {
      this.log.warn(`A push to worker ${worker} was not sent: ${messageOf(reply.error)}`);
    }
    return reply;
  }
}

/** Groups jobs into requests: those of one worker together, up to its batch size and the limit in bytes. */
function* requestsOf(jobs: readonly HandedJob[]): Generator<readonly Push[]> {
  const byWorker = new Map<string, Push[]>();
  for (const job of jobs) {
    const push = { job, body: pack(workerJob(job)) };
    const others = job.batch > 1 ? byWorker.get(job.worker) : undefined;
    if (others) others.push(push);
    else if (job.batch > 1) byWorker.set(job.worker, [push]);
    else yield [push];
  }
  for (const pushes of byWorker.values()) {
    const most = Math.min(pushes[0]?.job.batch ?? 1, MAX_BATCH);
    while (pushes.length > 0) yield pushes.splice(0, fitting(pushes, most));
  }
}

function outcomeOf(reply: Exchanged | Unanswered): PushOutcome {
  if ('error' in reply) return { status: reply.status };
  return isOwn(reply) ? outcomeOfStatus(reply.status, reply.headers['retry-after']) : { status: 'silent' };
}

function probedAs(reply: Exchanged | undefined): Parameters<JqEngine['probed']>[1] {
  if (!reply) return 'nothing';
  return reply.status === 410 && isOwn(reply) ? 'gone' : 'there';
}

/** Whether it can be the worker's own answer. Behind another, of something in between, it may have taken the push, or not. */
function isOwn({ status, headers }: Exchanged): boolean {
  const { 'content-type': type, 'retry-after': rest } = headers;
  // Frameworks send the name of the status along, as text; pages of others are HTML.
  const isLater = rest !== undefined && (status === 429 || status === 503);
  if (isLater && /^text\/plain\b/i.test(type ?? '')) return true;
  if (type === undefined && status >= 500) return isLater;
  return status === 202 || (status >= 300 && formatOf(type) !== undefined);
}

/** A request counts as one failure, however many jobs it had. */
function shared(outcome: PushOutcome, count: number): readonly PushOutcome[] {
  const isFailure =
    outcome.status === 'refused' || outcome.status === 'broken' || outcome.status === 'silent';
  return Array.from({ length: count }, (_, index) =>
    isFailure && index > 0 ? { ...outcome, blamed: true } : outcome,
  );
}

function outcomesOf({ body }: Exchanged, count: number): readonly PushOutcome[] {
  const verdicts = readVerdicts(body, count);
  // It may have taken them, but its reply can't be read.
  if (!verdicts) return shared({ status: 'silent' }, count);
  return verdicts.map(({ status, retry_after }: Verdict) =>
    outcomeOfStatus(status, retry_after === undefined ? undefined : String(retry_after)),
  );
}

function outcomeOfStatus(status: number, retryAfter: string | string[] | undefined): PushOutcome {
  if (status >= 200 && status < 300) return { status: 'accepted' };
  if (status === 404) return { status: 'unknown_name' };
  if (status === 410) return { status: 'gone' };
  if (status === 429 || status === 503) return { status: 'busy', rest: restOf(retryAfter, Date.now()) };
  if (status === 400) return { status: 'invalid', message: 'the worker refused it with 400' };
  return { status: 'broken' };
}
