import { setTimeout as delay } from 'node:timers/promises';
import { chunksOf } from '../batching/chunks.js';
import type { QueueOverview } from '../job/job-views.js';
import type { DescribedJob } from '../gearmonkey/features/views/view-store.js';
import { answerTo } from './answers.js';
import type { ApiError, FunctionView } from './api.js';
import type { LiveStream } from './live-stream.js';
import type { Counted } from './counted.js';
import type { ViewedFunction } from './viewed-instance.js';

export type ReadOverview = QueueOverview & Pick<FunctionView, 'unknown'>;

/** What one round of reading has found, shared by all streams. */
export interface Round {
  /** By instance and function. */
  readonly overviews: Map<string, Map<string, ReadOverview>>;
  /** The names of all functions of instances that are watched whole. */
  readonly names: Map<string, readonly string[]>;
  /** By `jobKey`; undefined if there is no such job. */
  readonly jobs: Map<string, DescribedJob | undefined>;
  readonly troubles: Map<string, ApiError>;
  /** The instances that were asked and have answered. */
  readonly read: Set<string>;
}

/** Most questions to a server in a second, of all streams together. */
export const MOST_A_SECOND = 50;
const SECOND_MS = 1000;
/** Batches of questions, so that they are spread over a round. */
const BATCH = 25;

export function jobKey({ i, fn }: Pick<ViewedFunction, 'i' | 'fn'>, id: string): string {
  return JSON.stringify([i, fn, id]);
}

/** Reads once what any of the streams watches, at most 50 questions a second. */
export async function readRound(streams: readonly LiveStream[], signal: AbortSignal): Promise<Round> {
  const round: Round = {
    ...{ overviews: new Map(), names: new Map(), jobs: new Map() },
    ...{ troubles: new Map(), read: new Set() },
  };
  for (const [viewed, wanted] of watchedFunctions(streams))
    await attempt(round, viewed.i, () => readOverviews(round, viewed, wanted, signal));
  for (const [key, { viewed, id }] of watchedJobs(streams))
    await attempt(round, viewed.i, async () => {
      round.jobs.set(key, await viewed.client.described(viewed.fn, id));
      await delay(SECOND_MS / MOST_A_SECOND, undefined, { signal });
    });
  return round;
}

async function readOverviews(
  round: Round,
  counted: Counted,
  { isAll, fns }: Wanted,
  signal: AbortSignal,
): Promise<void> {
  const { i } = counted;
  const all = isAll ? await counted.functions() : [];
  if (isAll) round.names.set(i, all);
  const names = [...new Set([...all, ...fns])];
  const found = new Map<string, ReadOverview>();
  round.overviews.set(i, found);
  for (const some of counted.isWhole ? [names] : chunksOf(names, BATCH)) {
    for (const overview of await counted.overviewOf(some)) found.set(overview.fn, overview);
    if (!counted.isWhole) await delay((some.length * SECOND_MS) / MOST_A_SECOND, undefined, { signal });
  }
  const named = all.length > 0 ? names.filter((fn) => !all.includes(fn)) : names;
  for (const fn of await counted.unknownOf(named.flatMap((one) => found.get(one) ?? []))) {
    const overview = found.get(fn);
    if (overview) found.set(fn, { ...overview, unknown: true });
  }
}

async function attempt(round: Round, i: string, read: () => Promise<void>): Promise<void> {
  try {
    await read();
    if (!round.troubles.has(i)) round.read.add(i);
  } catch (error) {
    round.read.delete(i);
    round.troubles.set(i, answerTo(error)[1]);
  }
}

/** Functions of an instance: all that there are, and others by their names. */
interface Wanted {
  isAll: boolean;
  readonly fns: Set<string>;
}

function watchedFunctions(streams: readonly LiveStream[]): Map<Counted, Wanted> {
  const found = new Map<string, { viewed: Counted; wanted: Wanted }>();
  for (const { viewed, fns } of streams.flatMap(({ watched }) => watched.overviews)) {
    const known = found.get(viewed.i) ?? { viewed, wanted: { isAll: false, fns: new Set<string>() } };
    if (fns === undefined) known.wanted.isAll = true;
    else for (const fn of fns) known.wanted.fns.add(fn);
    found.set(viewed.i, known);
  }
  return new Map([...found.values()].map(({ viewed, wanted }) => [viewed, wanted]));
}

function watchedJobs(streams: readonly LiveStream[]) {
  const jobs = streams.flatMap(({ watched }) => watched.jobs);
  return new Map(jobs.map((job) => [jobKey(job.viewed, job.id), job]));
}
