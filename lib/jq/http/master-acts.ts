import { randomUUID } from 'node:crypto';
import { decode } from '@msgpack/msgpack';
import { InvalidOptionError } from '../../job/errors.js';
import { fieldsOf, type SourceRow, type SourceTables, type TableRequest } from '../../job/source-tables.js';
import { pack, type Packable } from '../message-pack/pack.js';
import { toRaw } from '../message-pack/unpack.js';
import { refused, type MasterReply } from './master-http.js';
import { jobVerbs, NAME_VERBS, read, readTable, VIEWS, type Ask, type Fields } from './master-tables.js';

const PARTS = {
  argument: 'input',
  result: 'output',
  error: 'error',
  message: 'error',
  attempts: 'error',
} as const;
const MOST = 1000;
/** Of a message, of which the master keeps sixteen times as much. */
const SHOWN_OF_ATTEMPT = 1000;
const MAX_DEPTH = 8;

/** What people see of a master, and do to it, as far as the source's token may. */
export function tablesOf(ask: Ask, post: (body: Buffer, key: string) => Promise<MasterReply>): SourceTables {
  return {
    views: VIEWS,
    verbs: ['run', 'retry', 'cancel', 'discard'],
    enqueue: { fn: 'name', input: 'argument', enqueue: (job) => enqueue(post, job) },
    read: (view, page) => readTable(ask, view, page),
    open: (view, key) => open(ask, view, key),
    act: (request) => act(ask, request),
  };
}

async function enqueue(
  post: (body: Buffer, key: string) => Promise<MasterReply>,
  { fn, input }: { readonly fn: string; readonly input: unknown },
): Promise<string> {
  const argument = input ?? {};
  if (typeof argument !== 'object' || Array.isArray(argument))
    throw new InvalidOptionError('argument', argument, 'a map: an object in JSON');
  const reply = await post(
    pack({ name: fn, argument: argument as Packable, keep_result: true }),
    randomUUID(),
  );
  if (reply.status !== 201) throw refused(`A job "${fn}"`, reply);
  return String((decode(toRaw(reply.body, MAX_DEPTH).bytes) as Fields)['job_id']);
}

async function open(ask: Ask, view: string, id: string): Promise<SourceRow | undefined> {
  if (view !== 'jobs' && view !== 'failed') return undefined;
  const job = await jobOf(ask, id);
  if (!job) return undefined;
  const fields = fieldsOf(job, PARTS).map((field) =>
    field.name === 'attempts' ? { ...field, most: SHOWN_OF_ATTEMPT } : field,
  );
  return { fn: job.name, fields };
}

/** Of a name: its failed jobs, at most 1,000. Of a job: if it has this name. */
async function act(ask: Ask, { view, verb, key, fn }: TableRequest): Promise<number> {
  if (view === 'names')
    return key === fn && isName(fn) && NAME_VERBS.includes(verb) ? actOnFailed(ask, verb, fn) : 0;
  const job = await jobOf(ask, key);
  if (job?.name !== fn || !jobVerbs(job).includes(verb)) return 0;
  const path = encodeURIComponent(key);
  if (verb === 'cancel') return changed(await ask('DELETE', `/job/${path}`));
  const isDead = job['status'] === 'error';
  if (verb === 'retry')
    return changed(
      await ask('POST', isDead ? `/api/dead-letters/${path}/requeue` : `/api/jobs/${path}/retry`),
    );
  return changed(await ask('DELETE', isDead ? `/api/dead-letters/${path}` : `/api/jobs/${path}`));
}

async function actOnFailed(ask: Ask, verb: TableRequest['verb'], name: string): Promise<number> {
  const query = `?limit=${MOST}&name=${encodeURIComponent(name)}`;
  const reply =
    verb === 'retry'
      ? await ask('POST', `/api/dead-letters/requeue${query}`)
      : await ask('DELETE', `/api/dead-letters${query}`);
  if (reply.status !== 200) throw refused('This change', reply);
  return Number((decode(toRaw(reply.body, MAX_DEPTH).bytes) as Fields)['count']);
}

/** The job with this id: a text that leads elsewhere, such as to the list of jobs, is no id. */
async function jobOf(ask: Ask, id: string): Promise<(Fields & { readonly name: string }) | undefined> {
  if (!isName(id) || id === '.' || id === '..') return undefined;
  const missing = { isMissing: true };
  const reply = async (...asked: Parameters<Ask>) => {
    const answer = await ask(...asked);
    if (answer.status === 404) throw missing;
    return answer;
  };
  try {
    const job = await read(reply, `/api/jobs/${encodeURIComponent(id)}`);
    const { name } = job;
    return job['id'] === id && typeof name === 'string' ? { ...job, name } : undefined;
  } catch (error) {
    if (error === missing) return undefined;
    throw error;
  }
}

/** Whether a URL can name it: without a name, a request is about all. */
function isName(text: string): boolean {
  return text !== '' && text.isWellFormed();
}

/** One that is gone or has another state meanwhile is left. */
function changed(reply: MasterReply): number {
  if (reply.status === 404 || reply.status === 409) return 0;
  if (reply.status !== 204) throw refused('This change', reply);
  return 1;
}
