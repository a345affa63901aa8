import { Refused, ranked, type CoreModel, type ModelJob } from './core-model.js';
import type { Kind, Late, Step, StepOf } from './steps.js';

type Arg = string | number;

/** What is sent, and what the model makes of it: the reply, as `read` gives it, or that it is refused. */
export interface Call {
  readonly command: string;
  readonly args: readonly Arg[];
  readonly expected: () => unknown;
  readonly read?: (reply: unknown) => unknown;
}

type Calls = { [Name in Kind]: (model: CoreModel, now: number, step: StepOf<Name>) => Call };

const jidsOf = (reply: unknown) => {
  const jobs: unknown = JSON.parse(String(reply));
  return Array.isArray(jobs) ? (jobs as { jid: string }[]).map(({ jid }) => jid) : [];
};

/** What any client reads of jobs: the reply and all in it is JSON. */
const summaries = (reply: unknown) => {
  const jobs: unknown = JSON.parse(String(reply));
  return (Array.isArray(jobs) ? (jobs as ReadJob[]) : []).map(({ jid, state, data, history }) => ({
    ...{ jid, state, data },
    history: Array.isArray(history) ? history.map(({ what }) => what) : [],
  }));
};

interface ReadJob {
  readonly jid: string;
  readonly state: string;
  readonly data: string;
  readonly history: readonly { readonly what: string }[];
}

const options = (given: Record<string, Arg | undefined>): Arg[] =>
  Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name, value]));

/** An argument that may be left out at the end. */
const atEnd = (value: string | undefined): string[] => (value === undefined ? [] : [value]);

const json = (value: unknown) => (value === undefined ? undefined : JSON.stringify(value));

/** The job's owner and queue where the caller is honest. */
function claimOf(model: CoreModel, { jid, honest, worker, queue }: Omit<StepOf<'complete'>, 'data'>) {
  const job = honest ? model.jobs.get(jid) : undefined;
  return { worker: job?.worker || worker, queue: job?.queue || queue };
}

export const CALLS: Calls = {
  put: (model, now, { queue, worker, jid, data, delay, ...given }) => ({
    command: 'put',
    args: [
      ...[worker, queue, jid, 'k', data, delay],
      ...options({ ...given, tags: json(given.tags), depends: json(given.depends) }),
    ],
    expected: () => {
      model.put(now, queue, jid, delay, { ...given, data });
      return jid;
    },
  }),

  pop: (model, now, { queue, worker, count }) => ({
    ...{ command: 'pop', args: [queue, worker, count], read: jidsOf },
    expected: () => popped(model, now, queue, worker, count),
  }),

  peek: (model, now, { queue, count }) => ({
    ...{ command: 'peek', args: [queue, count], read: jidsOf },
    expected: () => {
      const expired = ranked(model.place('locks', queue), now).slice(0, count);
      model.promote(now, queue, count - expired.length);
      return [...expired, ...ranked(model.place('work', queue)).toReversed()].slice(0, count);
    },
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

  cancel: (model, _, { jids, whole }) => {
    const all = whole ? withDependents(model, jids) : jids;
    return {
      ...{ command: 'cancel', args: all },
      expected: () => {
        const left = all.flatMap((jid) => model.dependentsOf(jid)).some(({ jid }) => !all.includes(jid));
        if (left) throw new Refused('others depend on them');
        const jobs = all.flatMap((jid) => model.jobs.get(jid) ?? []);
        for (const job of jobs) if (job.state !== 'complete') model.remove(job);
        return all;
      },
    };
  },

  depend: (model, _, { jid, jids }) => ({
    ...{ command: 'depends', args: [jid, 'on', ...jids] },
    expected: () => {
      const job = dependent(model, jid);
      const open = (on: string) =>
        on !== jid && model.jobs.has(on) && model.existing(on).state !== 'complete';
      for (const on of jids.filter(open)) job.dependencies.add(on);
      return 1;
    },
  }),

  undepend: (model, now, { jid, jids }) => ({
    ...{ command: 'depends', args: [jid, 'off', ...(jids ?? ['all'])] },
    expected: () => {
      const job = dependent(model, jid);
      model.undepend(job, jids ?? [...job.dependencies], now);
      return 1;
    },
  }),

  priority: (model, _, { jid, priority }) => ({
    ...{ command: 'priority', args: [jid, priority] },
    expected: () => {
      const job = model.existing(jid);
      const work = model.place('work', job.queue);
      const score = work.get(jid);
      if (job.state === 'waiting' && score !== undefined) work.set(jid, score + (priority - job.priority));
      job.priority = priority;
      return priority;
    },
  }),

  tag: (model, now, { jid, tags }) => ({
    ...{ command: 'tag', args: ['add', jid, ...tags], read: tagsOf },
    expected: () => {
      const job = model.existing(jid);
      model.retag(job, [...job.tags, ...tags], now, tags);
      return job.tags;
    },
  }),

  untag: (model, now, { jid, tags }) => ({
    ...{ command: 'tag', args: ['remove', jid, ...tags], read: tagsOf },
    expected: () => {
      const job = model.existing(jid);
      const kept = job.tags.filter((tag) => !tags.includes(tag));
      model.retag(job, kept, now, []);
      return kept;
    },
  }),

  track: (model, now, { jid, tracked }) => ({
    ...{ command: 'track', args: [tracked ? 'track' : 'untrack', jid] },
    expected: () => {
      model.existing(jid);
      const was = model.tracked.has(jid);
      if (tracked) model.tracked.set(jid, now);
      else model.tracked.delete(jid);
      return was === tracked ? '0' : '1';
    },
  }),

  pause: (model, _, { queue, paused }) => ({
    ...{ command: paused ? 'pause' : 'unpause', args: [queue] },
    expected: () => {
      if (paused) model.paused.add(queue);
      else model.paused.delete(queue);
      return null;
    },
  }),

  unfail: (model, now, { queue, group, count }) => ({
    ...{ command: 'unfail', args: [queue, group, count] },
    expected: () => {
      const jids = (model.failures.get(group) ?? []).slice(-count);
      for (const job of jids.toReversed().map((jid) => model.existing(jid))) {
        model.leave(job);
        job.failure = null;
        job.history.push('put');
        model.enter(job, queue, now, 0, []);
      }
      return jids.length;
    },
  }),

  recur: (model, now, { queue, jid, interval, offset, tags, ...rest }) => ({
    command: 'recur',
    args: [queue, jid, 'k', '{}', 'interval', interval, offset, ...options({ ...rest, tags: json(tags) })],
    expected: () => {
      const old = model.recurring.get(jid);
      if (old) model.place('recur', old.queue).delete(jid);
      model.recurring.set(jid, { queue, interval, tags, ...rest, count: old?.count ?? 0 });
      model.place('recur', queue).set(jid, now + offset);
      return jid;
    },
  }),

  update: (model, _, { jid, ...given }) => ({
    ...{ command: 'recur.update', args: [jid, ...options(given)] },
    expected: () => {
      const job = model.recurring.get(jid);
      if (!job) throw new Refused('no such recurring job');
      const next = model.place('recur', job.queue).get(jid) ?? 0;
      model.place('recur', job.queue).delete(jid);
      const { interval = job.interval, queue = job.queue, priority = job.priority } = given;
      model.place('recur', queue).set(jid, next + interval - job.interval);
      Object.assign(job, { interval, queue, priority });
      return 1;
    },
  }),

  unrecur: (model, _, { jid }) => ({
    ...{ command: 'unrecur', args: [jid] },
    expected: () => {
      const job = model.recurring.get(jid);
      if (job) model.place('recur', job.queue).delete(jid);
      model.recurring.delete(jid);
      return 1;
    },
  }),

  log: (model, _, { jid, raw: { text, sound } }) => ({
    ...{ command: 'log', args: [jid, 'note', text] },
    expected: () => {
      if (!sound) throw new Refused('no JSON object');
      model.existing(jid).history.push('note');
      return null;
    },
  }),

  config: (_, __, { option, value }) => ({
    ...{ command: 'config.set', args: [option, value] },
    expected: () => null,
  }),

  read: (model, _, { jids }) => ({
    ...{ command: 'multiget', args: jids, read: summaries },
    expected: () =>
      jids.flatMap((jid) => {
        const { state, data, history } = model.jobs.get(jid) ?? {};
        return state === undefined ? [] : [{ jid, state, data, history }];
      }),
  }),

  queues: (model, now, { queue }) => ({
    ...{ command: 'queues', args: [queue], read: (reply) => JSON.parse(String(reply)) as unknown },
    expected: () => counted(model, now, queue),
  }),
};

export function callOf(model: CoreModel, now: number, { do: kind, ...given }: Step): Call {
  const call = CALLS[kind] as (model: CoreModel, now: number, given: object) => Call;
  return call(model, now, given);
}

function stall(model: CoreModel, job: ModelJob): void {
  model.leave(job);
  job.state = 'stalled';
  job.history.push('timed-out');
  model.place('work', job.queue).set(job.jid, Infinity);
}

/** Does at once what a call with very many jids leaves to later ones. The jids that it leaves. */
export function leaveOver(model: CoreModel, { set, jids }: Late): string[] {
  if (set === 'stalling') {
    const running = jids.filter((jid) => model.jobs.get(jid)?.state === 'running');
    for (const jid of running) stall(model, model.existing(jid));
    return running;
  }
  const all = withDependents(model, jids).filter((jid) => model.jobs.get(jid)?.state !== 'complete');
  for (const jid of all) if (model.jobs.has(jid)) model.remove(model.existing(jid));
  return all;
}

const tagsOf = (reply: unknown) => {
  const tags: unknown = JSON.parse(String(reply));
  return Array.isArray(tags) ? tags : [];
};

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

function counted(model: CoreModel, now: number, queue: string) {
  for (const jid of ranked(model.place('scheduled', queue), now)) {
    model.place('scheduled', queue).delete(jid);
    model.line(model.existing(jid), now, null);
  }
  const size = (place: Parameters<CoreModel['place']>[0]) => model.place(place, queue).size;
  const stalled = ranked(model.place('locks', queue), now).length;
  return {
    ...{ name: queue, waiting: size('work'), stalled, running: size('locks') - stalled },
    ...{ scheduled: size('scheduled'), depends: size('depends'), recurring: size('recur') },
    paused: model.paused.has(queue),
  };
}

function dependent(model: CoreModel, jid: string): ModelJob {
  const job = model.jobs.get(jid);
  if (!job || job.state !== 'depends') throw new Refused(`${jid} depends on nothing`);
  return job;
}

/** The jobs, and whatever depends on them. */
function withDependents(model: CoreModel, jids: readonly string[]): string[] {
  const all = new Set(jids);
  for (const jid of all) for (const job of model.dependentsOf(jid)) all.add(job.jid);
  return [...all];
}

function attempt<T>(action: () => T): T | null {
  try {
    return action();
  } catch (error) {
    if (error instanceof Refused) return null;
    throw error;
  }
}
