import { atEnd, jidsOf, json, options, type Calls } from './call.js';
import { Refused, ranked, type CoreModel, type ModelJob } from './core-model.js';
import type { StepOf } from './steps.js';

/** Calls of workers: jobs are handed out, held, and leave their hands. */
export const CLAIM_CALLS = {
  pop: (model, now, { queue, worker, count }) => ({
    ...{ command: 'pop', args: [queue, worker, count], read: jidsOf },
    expected: () => popped(model, now, queue, worker, count),
  }),

  complete: (model, now, step) => {
    const { worker, queue } = claimOf(model, step);
    return {
      ...{ command: 'complete', args: [step.jid, worker, queue, step.data] },
      expected: () => {
        const job = model.complete(now, step.jid, worker, queue);
        job.data = step.data;
        model.end(now, job);
        return 'complete';
      },
    };
  },

  next: (model, now, step) => {
    const { worker, queue } = claimOf(model, step);
    const given = options({ next: step.next, delay: step.delay, depends: json(step.depends) });
    return {
      ...{ command: 'complete', args: [step.jid, worker, queue, '{}', ...given] },
      expected: () => {
        const job = model.complete(now, step.jid, worker, queue);
        job.history.push('put');
        model.enter(job, step.next, now, step.delay, step.depends ?? []);
        return job.state;
      },
    };
  },

  many: (model, now, { jids, worker, queue }) => ({
    ...{ command: 'complete.many', args: [worker, queue, ...jids.flatMap((jid) => [jid, '{}'])] },
    read: (reply) => (reply as string[]).map((state) => state === 'complete'),
    expected: () => {
      const done = jids.map((jid) => attempt(() => model.complete(now, jid, worker, queue)));
      for (const job of done) if (job) model.end(now, job);
      return done.map(Boolean);
    },
  }),

  fail: (model, now, step) => {
    const { worker } = claimOf(model, step);
    return {
      ...{ command: 'fail', args: [step.jid, worker, step.group, 'message', ...atEnd(step.data)] },
      expected: () => {
        const job = model.running(step.jid, worker);
        job.data = step.data ?? job.data;
        model.fail(now, job, step.group);
        return step.jid;
      },
    };
  },

  retry: (model, now, step) => {
    const { worker } = claimOf(model, step);
    const failure = step.group === undefined ? [] : [step.group, 'message'];
    return {
      ...{ command: 'retry', args: [step.jid, step.to, worker, step.delay, ...failure] },
      expected: () => retried(model, now, step, worker),
    };
  },

  heartbeat: (model, now, step) => {
    const { worker } = claimOf(model, step);
    return {
      ...{ command: 'heartbeat', args: [step.jid, worker, ...atEnd(step.data)] },
      expected: () => {
        const job = model.running(step.jid, worker);
        lock(model, now, job, worker);
        job.grace = false;
        job.data = step.data ?? job.data;
        return Math.trunc(job.expires);
      },
    };
  },

  timeout: (model, _, { jids }) => ({
    ...{ command: 'timeout', args: jids },
    expected: () => {
      const jobs = jids.map((jid) => model.existing(jid));
      if (jobs.some(({ state }) => state !== 'running')) throw new Refused('not all run');
      for (const job of jobs) stall(model, job);
      return null;
    },
  }),
} satisfies Partial<Calls>;

/** The job's owner and queue where the caller is honest. */
function claimOf(model: CoreModel, { jid, honest, worker, queue }: Omit<StepOf<'complete'>, 'data'>) {
  const job = honest ? model.jobs.get(jid) : undefined;
  return { worker: job?.worker || worker, queue: job?.queue || queue };
}

function popped(model: CoreModel, now: number, queue: string, worker: string, asked: number): string[] {
  if (model.paused.has(queue)) return [];
  const most = model.mostConcurrent.get(queue);
  const locked = [...model.place('locks', queue).values()].filter((expires) => expires >= now).length;
  let count = most === undefined ? asked : Math.min(asked, most - locked);
  if (count <= 0) return [];
  const { taken, warned } = model.expire(now, queue, count);
  if (most !== undefined) count -= warned;
  if (taken.length < count) model.promote(now, queue, count - taken.length);
  const work = model.place('work', queue);
  const waiting = ranked(work)
    .toReversed()
    .slice(0, Math.max(0, count - taken.length));
  for (const jid of waiting) work.delete(jid);
  const jobs = [...taken, ...waiting.map((jid) => model.existing(jid))];
  for (const job of jobs) {
    model.count('wait', queue, now, 1);
    model.count('waittime', queue, now, now - job.time);
    job.history.push('popped');
    Object.assign(job, { state: 'running', time: now });
    lock(model, now, job, worker);
  }
  return jobs.map(({ jid }) => jid);
}

function lock(model: CoreModel, now: number, job: ModelJob, worker: string): void {
  job.worker = worker;
  job.expires = now + model.heartbeatSeconds;
  model.place('locks', job.queue).set(job.jid, job.expires);
  model.heldBy(worker).set(job.jid, job.expires);
}

export function stall(model: CoreModel, job: ModelJob): void {
  model.leave(job);
  job.state = 'stalled';
  job.history.push('timed-out');
  model.place('work', job.queue).set(job.jid, Infinity);
}

function retried(model: CoreModel, now: number, step: StepOf<'retry'>, worker: string): number {
  const job = model.running(step.jid, worker);
  job.remaining -= 1;
  if (job.remaining < 0) {
    if (step.group === undefined) model.fail(now, job, `failed-retries-${step.to}`, now);
    else model.fail(now, job, step.group);
    return job.remaining;
  }
  model.leave(job);
  job.queue = step.to;
  model.line(job, now, step.delay > 0 ? now + step.delay : null);
  if (step.group !== undefined) job.failure = { group: step.group, when: Math.floor(now) };
  return job.remaining;
}

function attempt<T>(action: () => T): T | null {
  try {
    return action();
  } catch (error) {
    if (error instanceof Refused) return null;
    throw error;
  }
}
