import type { Redis } from 'ioredis';
import type { CoreModel, ModelJob, Scores } from './core-model.js';

/** What the core keeps, by key, as far as the model says it. */
export type Keys = Record<string, unknown>;

/** Every key with its content. */
const DUMP = `
  local found = {}
  for _, key in ipairs(redis.call('KEYS', '*')) do
    local type = redis.call('TYPE', key).ok
    local content
    if type == 'zset' then content = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    elseif type == 'hash' then content = redis.call('HGETALL', key)
    elseif type == 'set' then content = redis.call('SMEMBERS', key)
    else content = redis.call('LRANGE', key, 0, -1) end
    found[#found + 1] = { key, type, content }
  end
  return found`;

/** Known by name and time only, or figures that other tests are about. */
const LEFT_OUT = /^ql:(queues|workers|config)$/;

export async function keysOf(redis: Redis): Promise<Keys> {
  const dump = (await redis.eval(DUMP, 0)) as [string, string, string[]][];
  const known = dump.filter(([key]) => !LEFT_OUT.test(key));
  return Object.fromEntries(
    known.map(([key, type, content]) => [key, decoded(key, type, content)]).filter(([, value]) => value),
  );
}

function decoded(key: string, type: string, content: string[]): unknown {
  if (type === 'set') return content.toSorted();
  if (type === 'list') {
    return key.endsWith('-history') ? content.map((item) => (JSON.parse(item) as string[])[1]) : content;
  }
  const pairs = Object.fromEntries(
    content.flatMap((name, index) => (index % 2 === 0 ? [[name, content[index + 1] ?? '']] : [])),
  );
  if (type === 'zset') return mapped(pairs, (score) => Number(score.replace('inf', 'Infinity')));
  if (key.startsWith('ql:j:')) return jobFields(pairs);
  if (key.startsWith('ql:r:')) return recurringFields(pairs);
  return statistics(key, pairs);
}

function jobFields(hash: Record<string, string>) {
  const failure = JSON.parse(hash['failure'] ?? '{}') as { group?: string; when?: number };
  return {
    ...{ state: hash['state'], queue: hash['queue'], worker: hash['worker'] },
    ...{ priority: Number(hash['priority']), retries: Number(hash['retries']) },
    ...{ remaining: Number(hash['remaining']), expires: Number(hash['expires']), time: Number(hash['time']) },
    tags: list(hash['tags']),
    data: hash['data'],
    failure: failure.group === undefined ? null : { group: failure.group, when: failure.when },
    grace: hash['grace'] === '1',
    scheduled: hash['scheduled'] === undefined ? null : Number(hash['scheduled']),
  };
}

function recurringFields(hash: Record<string, string>) {
  const number = (field: string) => Number(hash[field]);
  return {
    ...{ queue: hash['queue'], interval: number('interval'), priority: number('priority') },
    ...{ retries: number('retries'), backlog: number('backlog'), tags: list(hash['tags']) },
    count: number('count'),
  };
}

function list(text: string | undefined): unknown {
  const value: unknown = JSON.parse(text ?? '[]');
  return Array.isArray(value) ? value : [];
}

/** Counts that are not 0; of samples how many, and their sum. */
function statistics(key: string, hash: Record<string, string>) {
  if (key.startsWith('ql:s:stats:')) return nonZero(mapped(hash, Number));
  const total = Number(hash['total']);
  return { total, sum: rounded(total * Number(hash['mean'])) };
}

const rounded = (seconds: number) => Math.round(seconds * 100) / 100;

/** What the keys are to be. */
export function expectedKeys(model: CoreModel): Keys {
  const keys: Keys = {
    'ql:completed': scores(model.completed),
    'ql:tracked': scores(model.tracked),
    'ql:paused_queues': sorted(model.paused),
    'ql:failures': sorted(model.failures.keys()),
    'ql:tags': scores(tagCounts(model)),
  };
  for (const [name, set] of model.places) keys[`ql:q:${name}`] = scores(set);
  for (const [worker, set] of model.held) keys[`ql:w:${worker}:jobs`] = scores(set);
  for (const [tag, set] of model.tags) keys[`ql:t:${tag}`] = scores(set);
  for (const [group, jids] of model.failures) keys[`ql:f:${group}`] = jids;
  for (const [jid, recurring] of model.recurring) keys[`ql:r:${jid}`] = { ...recurring };
  for (const job of model.jobs.values()) addJob(keys, job, model);
  addStatistics(keys, model);
  return Object.fromEntries(Object.entries(keys).filter(([, value]) => value !== undefined));
}

function addJob(keys: Keys, job: ModelJob, model: CoreModel): void {
  const { jid, history, dependencies, ...fields } = job;
  keys[`ql:j:${jid}`] = fields;
  keys[`ql:j:${jid}-history`] = history;
  keys[`ql:j:${jid}-dependencies`] = sorted(dependencies);
  keys[`ql:j:${jid}-dependents`] = sorted(model.dependentsOf(jid).map((dependent) => dependent.jid));
}

function addStatistics(keys: Keys, model: CoreModel): void {
  for (const name of model.counts.keys()) {
    const [what = '', day, queue] = name.split(':');
    const of = (figure: string) => model.counts.get(`${figure}:${day}:${queue}`) ?? 0;
    if (what === 'wait' || what === 'run') {
      keys[`ql:s:${what}:${day}:${queue}`] = { total: of(what), sum: rounded(of(`${what}time`)) };
    } else if (!what.endsWith('time')) {
      const figures = { retries: of('retries'), failed: of('failed'), failures: of('failures') };
      keys[`ql:s:stats:${day}:${queue}`] = nonZero(figures);
    }
  }
}

function nonZero(figures: Record<string, number>): Record<string, number> | undefined {
  const found = Object.entries(figures).filter(([, figure]) => figure !== 0);
  return found.length > 0 ? Object.fromEntries(found) : undefined;
}

/** An empty set has no key. */
function scores(set: Scores): Record<string, number> | undefined {
  return set.size > 0 ? Object.fromEntries(set) : undefined;
}

function tagCounts(model: CoreModel): Scores {
  const counts = [...model.tags].map(([tag, jids]) => [tag, jids.size] as const);
  return new Map(counts.filter(([, count]) => count > 0));
}

function sorted(names: Iterable<string>): string[] | undefined {
  const found = [...names].sort();
  return found.length > 0 ? found : undefined;
}

function mapped<T>(record: Record<string, string>, change: (text: string) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([name, text]) => [name, change(text)]));
}
