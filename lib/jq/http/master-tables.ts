import { decode } from '@msgpack/msgpack';
import {
  ROWS_OF_PAGE,
  toSlice,
  toTable,
  wrongPage,
  type Columns,
  type SourceTable,
  type TableVerb,
  type VerbsOf,
} from '../../job/source-tables.js';
import { toRaw } from '../message-pack/unpack.js';
import { refused, type MasterReply } from './master-http.js';

export const VIEWS = ['names', 'jobs', 'failed', 'workers', 'constraints'] as const;
type View = (typeof VIEWS)[number];
const MAX_DEPTH = 64;

/** An object of a reply, of a master that may be another implementation. */
export type Fields = Readonly<Record<string, unknown>>;
export type Ask = (method: 'GET' | 'POST' | 'DELETE', path: string) => Promise<MasterReply>;

const NAMES = columnsOf(['name', 'queued', 'retrying', 'error', 'done']);
const JOBS = columnsOf([
  ...['id', 'name', 'status', 'since', 'priority', 'enqueued_at', 'retry_count', 'worker_id', 'message'],
]);
const WORKERS = columnsOf([
  ...['id', 'name', 'state', 'running', 'max_jobs', 'failures'],
  ...['registered_at', 'seen_at', 'rests_until', 'url'],
]);
const CONSTRAINTS: Columns<Fields> = {
  id: ({ id }) => id,
  match: ({ match }) => JSON.stringify(match),
  per: ({ per }) => per ?? null,
  rate: ({ rate }) => (rate ? JSON.stringify(rate) : null),
  concurrency: ({ concurrency }) => concurrency,
};

interface List {
  readonly path: string;
  /** Its name in a reply. */
  readonly list: string;
  readonly columns: Columns<Fields>;
  readonly about: Partial<SourceTable>;
  readonly verbsOf?: VerbsOf<Fields>;
}

/** What can be done to the failed jobs of a name. */
export const NAME_VERBS: readonly TableVerb[] = ['retry', 'discard'];
const JOB_VERBS: Readonly<Record<string, readonly TableVerb[]>> = {
  queued: ['cancel'],
  retrying: ['retry', 'discard'],
  error: ['retry', 'discard'],
  done: ['discard'],
};

/** Lists that the master gives page by page. */
const LISTS: Readonly<Record<Exclude<View, 'constraints'>, List>> = {
  names: {
    ...{ path: '/api/names', list: 'names', columns: NAMES },
    about: { functions: 'name', key: 'name' },
    verbsOf: ({ error }) => (Number(error) > 0 ? NAME_VERBS : []),
  },
  jobs: {
    ...{ path: '/api/jobs', list: 'jobs', columns: JOBS },
    about: { functions: 'name', errors: 'message', key: 'id', opens: true },
    verbsOf: jobVerbs,
  },
  failed: {
    ...{ path: '/api/dead-letters', list: 'jobs', columns: JOBS },
    about: { functions: 'name', errors: 'message', key: 'id', opens: true },
    verbsOf: () => ['retry', 'discard'],
  },
  workers: { path: '/api/workers', list: 'workers', columns: WORKERS, about: {} },
};

/** What can be done to a job as it is. */
export function jobVerbs({ status }: Fields): readonly TableVerb[] {
  return JOB_VERBS[String(status)] ?? [];
}

/** A page of a table. @param view one of `VIEWS` @throws JqRefusedError if the token may not read it, InvalidOptionError */
export async function readTable(ask: Ask, view: string, page: string): Promise<SourceTable> {
  if (view === 'constraints') {
    const { constraints } = await read(ask, '/constraints', page);
    return toSlice(rowsOf(constraints), CONSTRAINTS, page);
  }
  const known = VIEWS.find((one) => one === view);
  const { path, list, columns, about, verbsOf } =
    LISTS[known === undefined || known === 'constraints' ? 'jobs' : known];
  const reply = await read(ask, path + queryOf(page), page);
  const { cursor } = reply;
  return {
    ...toTable(rowsOf(reply[list]), columns, verbsOf),
    ...(typeof cursor === 'string' && { next: cursor }),
    ...about,
  };
}

/** An object of the master. @throws JqRefusedError, InvalidOptionError */
export async function read(ask: Ask, path: string, page = ''): Promise<Fields> {
  const reply = await ask('GET', path);
  if (reply.status === 400 && page !== '') throw wrongPage(page);
  if (reply.status !== 200) throw refused('A table', reply);
  return decode(toRaw(reply.body, MAX_DEPTH).bytes) as Fields;
}

function queryOf(page: string): string {
  return `?limit=${ROWS_OF_PAGE}${page === '' ? '' : `&cursor=${encodeURIComponent(page)}`}`;
}

function rowsOf(list: unknown): Fields[] {
  return Array.isArray(list) ? (list as Fields[]) : [];
}

function columnsOf(names: readonly string[]): Columns<Fields> {
  return Object.fromEntries(names.map((name) => [name, (row: Fields) => row[name]]));
}
