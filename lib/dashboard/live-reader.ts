import { setTimeout as delay } from 'node:timers/promises';
import { chunksOf } from '../batching/chunks.js';
import { reasonOf } from '../job/error-info.js';
import { ConnectionError } from '../job/server-errors.js';
import type { DescribedJob } from '../gearmonkey/features/views/view-store.js';
import { answerTo } from './answers.js';
import type { ApiError } from './api.js';
import type { LiveStream } from './live-stream.js';
import type { Counted } from './counted.js';
import type { ReadOverview } from './unknown-functions.js';
import { unlessRefused } from './unless-refused.js';
import type { ViewedFunction } from './viewed-instance.js';

/** Neither if there is no such job. */
export interface ReadJob {
  readonly described?: DescribedJob | undefined;
  /** Why it can't be read. */
  readonly refused?: string;
}

/** What one round of reading has found, shared by all streams. */
export interface Round {
  /** By instance and function. */
  readonly overviews: Map<string, Map<string, ReadOverview>>;
  /** The names of all functions of instances that are watched whole. */
  readonly names: Map<string, readonly string[]>;
  /** By `jobKey`. */
  readonly jobs: Map<string, ReadJob>;
  /** Of instances that can't be read. */
  readonly troubles: Map<string, ApiError>;
  /** Of instances whose functions can't be listed. */
  readonly unlisted: Map<string, ApiError>;
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
    ...{ troubles: new Map(), unlisted: new Map(), read: new Set() },
  };
  for (const [viewed, wanted] of watchedFunctions(streams))
    await attempt(round, viewed.i, () => readOverviews(round, viewed, wanted, signal));
  for (const [key, { viewed, id }] of watchedJobs(streams))
    await attempt(round, viewed.i, async () => {
      const read = viewed.client.described(viewed.fn, id).then((described): ReadJob => ({ described }));
      round.jobs.set(key, await unlessRefused(read, (refused) => ({ refused })));
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
  const all = isAll ? await namesOf(round, counted) : [];
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

/** None if the app has no right to them: that concerns who watches all of them. */
async function namesOf({ names, unlisted }: Round, counted: Counted): Promise<readonly string[]> {
  const { i } = counted;
  const known = await unlessRefused(
    counted.functions(),
    (message) => void unlisted.set(i, { code: 'REFUSED', message }),
  );
  if (known) names.set(i, known);
  return known ?? [];
}

async function attempt(round: Round, i: string, read: () => Promise<void>): Promise<void> {
  try {
    await read();
    if (!round.troubles.has(i) && !round.unlisted.has(i)) round.read.add(i);
  } catch (error) {
    round.read.delete(i);
    round.troubles.set(i, troubleOf(error));
  }
}

/** For all who watch the instance: the error names the function that was asked about, which not all of them may know. */
function troubleOf(error: unknown): ApiError {
  const [, answer] = answerTo(error);
  if (!(error instanceof ConnectionError)) return answer;
  return { ...answer, message: `Redis did not answer: ${reasonOf(error.cause)}.` };
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
