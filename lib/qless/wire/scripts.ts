import { clientScript } from './assemble.js';
import type { Json, OptionArguments, PutArguments, RecurArguments } from './requests.js';
import {
  count,
  jobRecord,
  jobRecords,
  list,
  nothing,
  page,
  parsed,
  queueStats,
  recurringRecord,
  strings,
  text,
  type Consistency,
  type JobRecord,
  type QlessState,
  type QueueCounts,
  type QueueStats,
} from './replies.js';
import { scriptOf, type Script } from '../../redis/script.js';

/** Seconds since 1970, or the server's clock. */
type Now = number | '';
/** A command as a separate script. Its only key is the prefix of all keys, `ql:` or `{ql}:`. */
function defineScript<Args extends readonly (string | number | readonly (string | number)[])[], Reply>(
  command: string,
  decode: (reply: unknown) => Reply,
): Script<Args, Reply> {
  return scriptOf(clientScript(command), decode);
}

const textOrNull = (reply: unknown): string | null => (reply === null ? null : String(reply));

export const put = defineScript<[now: Now, ...PutArguments], string>('put', text);
export const requeue = defineScript<[now: Now, ...PutArguments], string>('requeue', text);
/** Null if a job of that jid exists. */
export const putAbsent = defineScript<[now: Now, ...PutArguments], string | null>('put.absent', textOrNull);
export const pop = defineScript<[now: Now, queue: string, worker: string, count: number], JobRecord[]>(
  'pop',
  jobRecords,
);
export const peek = defineScript<[now: Now, queue: string, count: number], JobRecord[]>('peek', jobRecords);
export const complete = defineScript<
  [now: Now, jid: string, worker: string, queue: string, data: Json, options: OptionArguments],
  QlessState
>('complete', (reply) => String(reply) as QlessState);
/** `jobs` is each jid followed by its data, 250 jobs at most. For each its state, complete, or an error's text. */
export const completeMany = defineScript<
  [now: Now, worker: string, queue: string, jobs: readonly (string | Json)[]],
  string[]
>('complete.many', strings);
export const fail = defineScript<
  [now: Now, jid: string, worker: string, group: string, message: string, data: [] | [Json]],
  string
>('fail', text);
/** The retries that remain; negative when it failed. */
export const retry = defineScript<
  [now: Now, jid: string, queue: string, worker: string, delay: number, failure: [] | [string, string]],
  number
>('retry', count);
/** When the lock ends, in seconds since 1970. */
export const heartbeat = defineScript<[now: Now, jid: string, worker: string, data: [] | [Json]], number>(
  'heartbeat',
  count,
);
export const timeout = defineScript<[now: Now, jids: readonly string[]], void>('timeout', nothing);
export const cancel = defineScript<[now: Now, jids: readonly string[]], string[]>('cancel', strings);
export const depends = defineScript<
  [now: Now, jid: string, command: 'on' | 'off', jids: readonly string[]],
  boolean
>('depends', (reply) => reply === 1);
export const priority = defineScript<[now: Now, jid: string, priority: number], number>('priority', count);

/** The job's tags. */
export const tag = defineScript<
  [now: Now, command: 'add' | 'remove', jid: string, tags: readonly string[]],
  string[]
>('tag', (reply) => strings(parsed(reply)));
export const tagged = defineScript<
  [now: Now, command: 'get', tag: string, offset: number, count: number],
  ReturnType<typeof page>
>('tag', page);
export const topTags = defineScript<[now: Now, command: 'top', offset: number, count: number], string[]>(
  'tag',
  (reply) => strings(parsed(reply)),
);
/** Whether it changed anything. */
export const track = defineScript<[now: Now, action: 'track' | 'untrack', jid: string], boolean>(
  'track',
  (reply) => count(reply) === 1,
);
export const tracked = defineScript<[now: Now], { jobs: JobRecord[]; expired: string[] }>(
  'track',
  (reply) => {
    const { jobs, expired } = parsed<{ jobs: unknown; expired: unknown }>(reply);
    return { jobs: list<Record<string, unknown>>(jobs).map(jobRecord), expired: strings(expired) };
  },
);

export const get = defineScript<[now: Now, jid: string], JobRecord | null>('get', (reply) =>
  reply === null ? null : jobRecord(parsed(reply)),
);
/** The existing jobs. */
export const multiget = defineScript<[now: Now, jids: readonly string[]], JobRecord[]>(
  'multiget',
  jobRecords,
);
export const failures = defineScript<[now: Now], Record<string, number>>('failed', (reply) => parsed(reply));
export const failed = defineScript<
  [now: Now, group: string, start: number, limit: number],
  ReturnType<typeof page>
>('failed', page);
export const unfail = defineScript<[now: Now, queue: string, group: string, count: number], number>(
  'unfail',
  count,
);
export const completeJobs = defineScript<
  [now: Now, state: 'complete', offset: number, count: number],
  string[]
>('jobs', strings);
export const jobs = defineScript<
  [
    now: Now,
    state: 'running' | 'stalled' | 'scheduled' | 'depends' | 'recurring' | 'waiting',
    queue: string,
    offset: number,
    count: number,
  ],
  string[]
>('jobs', strings);

export const queues = defineScript<[now: Now], QueueCounts[]>('queues', (reply) => list(parsed(reply)));
export const queue = defineScript<[now: Now, queue: string], QueueCounts>('queues', (reply) => parsed(reply));
export const forgetQueues = defineScript<[now: Now, queues: readonly string[]], void>(
  'queue.forget',
  nothing,
);
export const pause = defineScript<[now: Now, queues: readonly string[]], void>('pause', nothing);
export const unpause = defineScript<[now: Now, queues: readonly string[]], void>('unpause', nothing);
export const stats = defineScript<[now: Now, queue: string, date: number], QueueStats>('stats', queueStats);
export const length = defineScript<[now: Now, queue: string], number>('length', count);
export const log = defineScript<[now: Now, jid: string, message: string, data: [] | [Json]], void>(
  'log',
  nothing,
);

export const workers = defineScript<[now: Now], { name: string; jobs: number; stalled: number }[]>(
  'workers',
  (reply) => list(parsed(reply)),
);
export const worker = defineScript<[now: Now, worker: string], { jobs: string[]; stalled: string[] }>(
  'workers',
  (reply) => {
    const { jobs: held, stalled } = parsed<{ jobs: unknown; stalled: unknown }>(reply);
    return { jobs: strings(held), stalled: strings(stalled) };
  },
);
export const deregisterWorkers = defineScript<[now: Now, workers: readonly string[]], void>(
  'worker.deregister',
  nothing,
);

/** Defaults are numbers; values that were set are strings. */
export const config = defineScript<[now: Now], Record<string, string | number>>('config.get', (reply) =>
  parsed(reply),
);
export const getConfig = defineScript<[now: Now, option: string], string | null>('config.get', textOrNull);
export const setConfig = defineScript<[now: Now, option: string, value: string | number], void>(
  'config.set',
  nothing,
);
export const unsetConfig = defineScript<[now: Now, option: string], void>('config.unset', nothing);

export const recur = defineScript<[now: Now, ...RecurArguments], string>('recur', text);
export const recurring = defineScript<[now: Now, jid: string], ReturnType<typeof recurringRecord>>(
  'recur.get',
  recurringRecord,
);
export const updateRecurring = defineScript<[now: Now, jid: string, options: OptionArguments], boolean>(
  'recur.update',
  (reply) => reply === 1,
);
export const tagRecurring = defineScript<[now: Now, jid: string, tags: readonly string[]], string[]>(
  'recur.tag',
  (reply) => strings(parsed(reply)),
);
export const untagRecurring = defineScript<[now: Now, jid: string, tags: readonly string[]], string[]>(
  'recur.untag',
  (reply) => strings(parsed(reply)),
);
export const unrecur = defineScript<[now: Now, jid: string], boolean>('unrecur', (reply) => reply === 1);

export const checkConsistency = defineScript<
  [now: Now, resolve: 'resolve' | '', cursor: string],
  Consistency
>('consistency.check', (reply) => {
  const { problems, ...rest } = parsed<Consistency>(reply);
  return { ...rest, problems: list(problems) };
});
