import { json, options, type Calls } from './call.js';
import { Refused, type CoreModel, type ModelJob } from './core-model.js';

const tagsOf = (reply: unknown) => {
  const tags: unknown = JSON.parse(String(reply));
  return Array.isArray(tags) ? tags : [];
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

/** Calls about a job, in any state and with any worker. */
export const JOB_CALLS = {
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

  log: (model, _, { jid, raw: { text, sound } }) => ({
    ...{ command: 'log', args: [jid, 'note', text] },
    expected: () => {
      if (!sound) throw new Refused('no JSON object');
      model.existing(jid).history.push('note');
      return null;
    },
  }),

  read: (model, _, { jids }) => ({
    ...{ command: 'multiget', args: jids, read: summaries },
    expected: () =>
      jids.flatMap((jid) => {
        const { state, data, history } = model.jobs.get(jid) ?? {};
        return state === undefined ? [] : [{ jid, state, data, history }];
      }),
  }),
} satisfies Partial<Calls>;

function dependent(model: CoreModel, jid: string): ModelJob {
  const job = model.jobs.get(jid);
  if (!job || job.state !== 'depends') throw new Refused(`${jid} depends on nothing`);
  return job;
}

/** The jobs, and whatever depends on them. */
export function withDependents(model: CoreModel, jids: readonly string[]): string[] {
  const all = new Set(jids);
  for (const jid of all) for (const job of model.dependentsOf(jid)) all.add(job.jid);
  return [...all];
}
