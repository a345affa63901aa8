import {
  offsetOf,
  ROWS_OF_PAGE,
  toSlice,
  toTable,
  type SourceTable,
  type TableVerb,
} from '../../job/source-tables.js';
import type { JobRecord } from '../wire/replies.js';
import * as scripts from '../wire/scripts.js';
import type { AskQless } from './ask-qless.js';
import { readFailures } from './failed-groups.js';

export const VIEWS = ['queues', 'failures', 'tracked', 'recurring', 'tags', 'workers'] as const;
type View = (typeof VIEWS)[number];
type ReadTable = (ask: AskQless, page: string) => Promise<SourceTable>;

/** Recurring jobs of so many queues are listed, so many of each. */
const MOST_QUEUES = 100;
const MOST_RECURRING = 100;

const TABLES: Readonly<Record<View, ReadTable>> = {
  queues: readQueues,
  failures: async (ask, page) => ({
    ...toSlice(
      await readFailures(ask),
      {
        key: ({ key }) => key,
        group: ({ group }) => group,
        queue: ({ queue }) => queue,
        jobs: ({ jobs }) => jobs,
        message: ({ message }) => message,
        last: ({ last }) => last,
      },
      page,
      () => GROUP_VERBS,
    ),
    ...{ functions: 'queue', errors: 'message', key: 'key', opens: true },
  }),
  tracked: async (ask, page) => ({
    ...toSlice((await ask(scripts.tracked)).jobs, JOB_COLUMNS, page, jobVerbs),
    ...{ functions: 'queue', errors: 'failure', key: 'jid', opens: true },
  }),
  recurring: async (ask, page) => ({
    ...toSlice(
      await readRecurring(ask),
      {
        jid: ({ jid }) => jid,
        klass: ({ klass }) => klass,
        queue: ({ queue }) => queue,
        seconds: ({ interval }) => interval,
        priority: ({ priority }) => priority,
        jobs: ({ count }) => count,
        tags: ({ tags }) => tags,
      },
      page,
      () => ['cancel'],
    ),
    ...{ functions: 'queue', key: 'jid' },
  }),
  tags: readTags,
  workers: async (ask, page) =>
    toSlice(
      await ask(scripts.workers),
      { worker: ({ name }) => name, running: ({ jobs }) => jobs, stalled: ({ stalled }) => stalled },
      page,
    ),
};

const JOB_COLUMNS = {
  jid: ({ jid }: JobRecord) => jid,
  klass: ({ klass }: JobRecord) => klass,
  queue: ({ queue }: JobRecord) => queue,
  state: ({ state }: JobRecord) => state,
  priority: ({ priority }: JobRecord) => priority,
  worker: ({ worker }: JobRecord) => worker || null,
  remaining: ({ remaining }: JobRecord) => remaining,
  tags: ({ tags }: JobRecord) => tags,
  failure: ({ failure }: JobRecord) => failure?.message,
};

/** What can be done to the failed jobs of a group. */
export const GROUP_VERBS: readonly TableVerb[] = ['retry', 'discard'];

/** What can be done to a job as it is. */
export function jobVerbs({ state }: JobRecord): readonly TableVerb[] {
  if (state === 'complete') return [];
  return state === 'failed' ? ['retry', 'cancel'] : ['cancel'];
}

/** A page of a table. @param view one of `VIEWS` @throws InvalidOptionError */
export async function readTable(ask: AskQless, view: string, page: string): Promise<SourceTable> {
  return TABLES[VIEWS.find((known) => known === view) ?? 'queues'](ask, page);
}

async function readQueues(ask: AskQless, page: string): Promise<SourceTable> {
  const table = toSlice(
    await ask(scripts.queues),
    {
      queue: ({ name }) => name,
      waiting: ({ waiting }) => waiting,
      stalled: ({ stalled }) => stalled,
      running: ({ running }) => running,
      scheduled: ({ scheduled }) => scheduled,
      depends: ({ depends }) => depends,
      recurring: ({ recurring }) => recurring,
      paused: ({ paused }) => paused,
    },
    page,
    ({ paused }) => [paused ? 'resume' : 'pause'],
  );
  return { ...table, functions: 'queue', key: 'queue', opens: true };
}

async function readRecurring(ask: AskQless) {
  const queues = (await ask(scripts.queues)).filter(({ recurring }) => recurring > 0).slice(0, MOST_QUEUES);
  const jids = await Promise.all(
    queues.map(({ name }) => ask(scripts.jobs, 'recurring', name, 0, MOST_RECURRING)),
  );
  const jobs = await Promise.all(jids.flat().map((jid) => ask(scripts.recurring, jid)));
  return jobs.filter((job) => job !== null);
}

async function readTags(ask: AskQless, page: string): Promise<SourceTable> {
  const offset = offsetOf(page);
  const tags = await ask(scripts.topTags, 'top', offset, ROWS_OF_PAGE);
  const counts = await Promise.all(
    tags.map(async (tag) => [tag, (await ask(scripts.tagged, 'get', tag, 0, 1)).total] as const),
  );
  const table = toTable(counts, { tag: ([tag]) => tag, jobs: ([, total]) => total });
  return { ...table, ...(tags.length === ROWS_OF_PAGE && { next: String(offset + ROWS_OF_PAGE) }) };
}
