import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../job/errors.js';
import { realNow } from '../job/real-time.js';
import { repeat, ROUND_MS as BEAT_ROUND_MS } from '../redis/rounds.js';
import type { ApiError } from './api.js';
import { BulkRuns } from './bulk-runs.js';
import { ApiFailure } from './dashboard-errors.js';
import type { DashboardUser } from './dashboard.options.js';
import { FunctionReads } from './function-reads.js';
import { JobReads } from './job-reads.js';
import { jobKey, readRound, type Round } from './live-reader.js';
import { LiveStream } from './live-stream.js';
import { watchedBy } from './live-topics.js';
import { onceGone } from './request-facts.js';
import { DashboardAccess } from './viewed-instance.js';

const log = new Logger('Dashboard');

const MOST_STREAMS = 200;
/** Of a user; of an address if `auth` gives users no names. */
const MOST_OF_USER = 20;
const BEAT_MS = 15_000;
/** After this time a stream ends and its page connects again, through guards and `auth`: rights may have changed. */
const LIFE_MS = 60 * 1000;
const ROUND_MS = 2000;
/** A page that shows a job or a run wants to see it move. */
const FAST_ROUND_MS = 1000;

/** Live data for all pages: one loop reads for all of them, as long as there is a page. */
@Injectable()
export class LiveUpdates implements OnModuleDestroy {
  private readonly streams = new Set<LiveStream>();
  private loop: AbortController | undefined;
  private endBeats: (() => void) | undefined;
  private isClosed = false;
  private beatAt = 0;
  /** When an instance was last read without trouble. */
  private readonly readAt = new Map<string, Date>();

  constructor(
    @Inject(DashboardAccess) private readonly access: DashboardAccess,
    @Inject(FunctionReads) private readonly functions: FunctionReads,
    @Inject(JobReads) private readonly jobs: JobReads,
    @Inject(BulkRuns) private readonly bulks: BulkRuns,
  ) {}

  /** Checks what a page wants to watch; then `open` sends it. @throws ApiFailure 400, 403, 404, 429, 503 */
  prepare(user: DashboardUser, topics: unknown, address: string): (response: ServerResponse) => void {
    const watched = watchedBy(this.access, user, topics);
    if (this.isClosed) throw new ApiFailure(503, 'CLOSING', 'The app is closing.');
    const owner = user.name === '' ? `from ${address}` : `of ${user.name}`;
    if (this.streams.size >= MOST_STREAMS && this.streamsOf(owner).length < MOST_OF_USER)
      throw new ApiFailure(429, 'TOO_MANY_STREAMS', `${MOST_STREAMS} pages listen already.`);
    return (response) => {
      const [oldest, ...others] = this.streamsOf(owner);
      if (others.length + 1 >= MOST_OF_USER) this.giveWay(oldest);
      const stream = new LiveStream(user, watched, response, owner);
      this.streams.add(stream);
      this.start();
      stream.heartbeat();
      onceGone(response, () => this.remove(stream));
    };
  }

  onModuleDestroy(): void {
    this.isClosed = true;
    this.stop();
    for (const stream of this.streams) stream.end('the server is closing');
  }

  /** The oldest first. */
  private streamsOf(owner: string): LiveStream[] {
    return [...this.streams].filter((stream) => stream.owner === owner);
  }

  private giveWay(stream: LiveStream | undefined): void {
    if (!stream) return;
    // It counts no more, although its connection may take a moment to close.
    this.streams.delete(stream);
    stream.end('too many pages of this user listen');
  }

  private remove(stream: LiveStream): void {
    this.streams.delete(stream);
    if (this.streams.size === 0) this.stop();
  }

  private stop(): void {
    this.loop?.abort();
    this.loop = undefined;
    this.endBeats?.();
    this.endBeats = undefined;
  }

  private start(): void {
    if (this.loop) return;
    this.loop = new AbortController();
    // Not with the rounds, which may be long.
    this.endBeats = repeat(BEAT_ROUND_MS, () => this.beat());
    // Errors of servers are sent to the pages, and what a page can't be sent ends its stream; what is left is the abort.
    void this.run(this.loop.signal).catch(() => undefined);
  }

  /** A page that can't be sent what it watches connects again; the others are no worse for it. */
  private sendTo(stream: LiveStream, round: Round): void {
    try {
      this.send(stream, round);
    } catch (error) {
      log.error(`A page got no updates: ${messageOf(error)}`);
      stream.end('connect again');
    }
  }

  private async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const begun = performance.now();
      const streams = [...this.streams];
      const round = await readRound(streams, signal);
      if (signal.aborted) return;
      for (const i of round.read) this.readAt.set(i, new Date());
      for (const stream of streams) this.sendTo(stream, round);
      const isFast = streams.some(({ watched }) => watched.jobs.length > 0 || watched.bulks.length > 0);
      const length = isFast ? FAST_ROUND_MS : ROUND_MS;
      // A page that came meanwhile has waited already.
      const rest = this.streams.size > streams.length ? 0 : length - (performance.now() - begun);
      await delay(Math.max(0, rest), undefined, { signal });
    }
  }

  private beat(): void {
    const now = realNow();
    for (const stream of this.streams)
      if (now - stream.openedAt > LIFE_MS) this.endLife(stream);
      else if (now - this.beatAt > BEAT_MS) stream.heartbeat();
    if (now - this.beatAt > BEAT_MS) this.beatAt = now;
  }

  /** Also if its connection has gone without a word, and no longer to be told of what its user may have no right to. */
  private endLife(stream: LiveStream): void {
    stream.end('connect again');
    this.remove(stream);
  }

  private send(stream: LiveStream, round: Round): void {
    this.sendOverviews(stream, round);
    this.sendJobs(stream, round);
    for (const id of stream.watched.bulks) {
      const view = this.bulks.get(id);
      if (
        view &&
        this.access.mayView(stream.user, view.fn, view.i) &&
        stream.isNew(`bulk ${id}`, JSON.stringify(view))
      )
        stream.send('bulk', view);
    }
    this.sendTroubles(stream, round);
  }

  /** Only of what it watches. */
  private sendTroubles(stream: LiveStream, { troubles, unlisted }: Round): void {
    const concerned = new Map<string, ApiError>();
    const note = (i: string, error: ApiError | undefined, thing: string) => {
      if (!error) return;
      // What comes next is told even if nothing has changed: it is the end of the trouble.
      stream.forget(thing);
      concerned.set(i, error);
    };
    const { overviews, jobs } = stream.watched;
    for (const [index, { viewed, fns }] of overviews.entries()) {
      const { i } = viewed;
      note(i, troubles.get(i) ?? (fns ? undefined : unlisted.get(i)), `first ${index} ${i}`);
    }
    for (const { viewed, id } of jobs) note(viewed.i, troubles.get(viewed.i), `job ${jobKey(viewed, id)}`);
    for (const [i, error] of concerned)
      if (stream.isNew(`trouble ${i}`, String(realNow() >> 13)))
        stream.send('trouble', { i, error, since: this.readAt.get(i) });
  }

  private sendOverviews(stream: LiveStream, round: Round): void {
    for (const [index, { viewed, fns }] of stream.watched.overviews.entries()) {
      const { i } = viewed;
      const found = round.overviews.get(i);
      const names = fns ?? round.names.get(i)?.filter((fn) => this.access.mayView(stream.user, fn, i));
      if (!found || !names || round.troubles.has(i)) continue;
      const prefix = `overview ${index} ${i} `;
      const functions = names.flatMap((fn) => {
        const overview = found.get(fn);
        if (!overview || !stream.isNew(prefix + fn, JSON.stringify(overview))) return [];
        return [this.functions.shown(stream.user, i, overview)];
      });
      const known = new Set(names);
      const gone = stream.sentOf(prefix).filter((fn) => !known.has(fn));
      for (const fn of gone) stream.forget(prefix + fn);
      const isFirst = stream.isNew(`first ${index} ${i}`, '');
      if (isFirst || functions.length > 0 || gone.length > 0)
        stream.send('overview', { i, at: new Date(), functions, gone });
    }
  }

  private sendJobs(stream: LiveStream, round: Round): void {
    for (const { viewed, id } of stream.watched.jobs) {
      const key = jobKey(viewed, id);
      const read = round.jobs.get(key);
      if (!read) continue;
      const { described, refused } = read;
      const job = described ? this.jobs.shownJob(stream.user, viewed, id, described) : null;
      if (stream.isNew(`job ${key}`, JSON.stringify({ job, refused })))
        stream.send('job', {
          i: viewed.i,
          fn: viewed.fn,
          id,
          job,
          ...(refused !== undefined && { refused }),
        });
    }
  }
}
