import { randomUUID } from 'node:crypto';
import { fieldsOf, type SourceField, type SourceRow, type TableRequest } from '../../job/source-tables.js';
import type { JobRecord } from '../wire/replies.js';
import { putArguments } from '../wire/requests.js';
import * as scripts from '../wire/scripts.js';
import type { AskQless } from './ask-qless.js';
import { failedJobs, queueOf } from './failed-groups.js';
import { GROUP_VERBS, jobVerbs } from './qless-tables.js';

const PARTS = { data: 'input', failure: 'error' } as const;
const SHOWN_FAILED = 20;
const MS_PER_SECOND = 1000;

/** Does something to a queue, a job, a recurring job or a group of failed jobs. Returns to how many. */
export async function act(ask: AskQless, { view, verb, key, fn }: TableRequest): Promise<number> {
  if (view === 'queues' && key === fn && (verb === 'pause' || verb === 'resume')) {
    await ask(verb === 'pause' ? scripts.pause : scripts.unpause, [fn]);
    return 1;
  }
  if (view === 'recurring' && verb === 'cancel') return cancelRecurring(ask, key, fn);
  const found = view === 'failures' ? await failedJobs(ask, key) : await tracked(ask, key);
  const verbs = view === 'failures' ? () => GROUP_VERBS : jobVerbs;
  const jobs = found.filter((job) => job.queue === fn && verbs(job).includes(verb));
  if (verb === 'cancel' || verb === 'discard') return cancel(ask, jobs);
  return verb === 'retry' ? requeue(ask, jobs) : 0;
}

/** All of a job, the statistics of a queue today, or the newest failed jobs of a group. */
export async function open(ask: AskQless, view: string, key: string): Promise<SourceRow | undefined> {
  if (view === 'failures') {
    const jobs = (await failedJobs(ask, key)).slice(0, SHOWN_FAILED);
    return jobs.length === 0 ? undefined : { fn: queueOf(key), fields: jobs.flatMap(failedFields) };
  }
  if (view === 'queues') {
    if (!(await ask(scripts.queues)).some(({ name }) => name === key)) return undefined;
    const { wait, run, ...counts } = await ask(scripts.stats, key, Date.now() / MS_PER_SECOND);
    return { fn: key, fields: fieldsOf({ ...counts, 'waited (ms)': wait, 'ran (ms)': run }) };
  }
  const [job] = view === 'tracked' ? await tracked(ask, key) : [];
  if (!job) return undefined;
  const { data, failure, history, ...rest } = recordOf(job);
  const fields = [
    ...fieldsOf(rest),
    ...historyFields('history', history),
    ...fieldsOf({ data, failure }, PARTS),
  ];
  return { fn: job.queue, fields };
}

/** Puts a job and tracks it, so that its end can be seen. Returns its jid. */
export async function put(
  ask: AskQless,
  { fn: queue, kind, input }: { readonly fn: string; readonly kind: string; readonly input: unknown },
): Promise<string> {
  const jid = randomUUID().replaceAll('-', '');
  const data = JSON.stringify(input ?? {});
  const klass = kind === '' ? queue : kind;
  await ask(scripts.putAbsent, ...putArguments({ queue, jid, klass, data, delay: 0, options: [] }));
  await ask(scripts.track, 'track', jid);
  return jid;
}

async function tracked(ask: AskQless, jid: string): Promise<JobRecord[]> {
  const job = jid === '' ? null : await ask(scripts.get, jid);
  return job?.tracked ? [job] : [];
}

async function cancelRecurring(ask: AskQless, jid: string, fn: string): Promise<number> {
  const job = jid === '' ? null : await ask(scripts.recurring, jid);
  return job?.queue === fn && (await ask(scripts.unrecur, jid)) ? 1 : 0;
}

async function cancel(ask: AskQless, jobs: readonly JobRecord[]): Promise<number> {
  if (jobs.length === 0) return 0;
  await ask(
    scripts.cancel,
    jobs.map(({ jid }) => jid),
  );
  return jobs.length;
}

/** Failed jobs start over in their queue. One that has been put back meanwhile is left. */
async function requeue(ask: AskQless, jobs: readonly JobRecord[]): Promise<number> {
  let count = 0;
  for (const { jid, queue } of jobs.filter(({ state }) => state === 'failed')) {
    const now = await ask(scripts.get, jid);
    if (now?.state !== 'failed' || now.queue !== queue) continue;
    const { klass, data } = now;
    await ask(scripts.requeue, ...putArguments({ queue, jid, klass, data, delay: 0, options: [] }));
    count += 1;
  }
  return count;
}

/** A failed job, and apart from it its history and the input. */
function failedFields(job: JobRecord): SourceField[] {
  const { data, history, ...rest } = recordOf(job);
  const [about, input] = [job.jid, `${job.jid} data`];
  return [
    ...fieldsOf({ [about]: rest }, { [about]: 'error' }),
    ...historyFields(`${job.jid} history`, history),
    ...fieldsOf({ [input]: data }, { [input]: 'input' }),
  ];
}

/** It names the queues in which the job was. */
function historyFields(name: string, history: unknown): SourceField[] {
  return fieldsOf({ [name]: history }).map((field) => ({ ...field, functions: 'q' }));
}

/** Times as people read them. */
function recordOf({ history, failure, expires, ...job }: JobRecord) {
  const timeOf = (seconds: number) => new Date(seconds * MS_PER_SECOND);
  return {
    ...job,
    ...(expires > 0 && { expires: timeOf(expires) }),
    history: history.map((item) => ({ ...item, when: timeOf(item.when) })),
    failure: failure && { ...failure, when: timeOf(failure.when) },
  };
}
