import { HttpException, HttpStatus, type MessageEvent } from '@nestjs/common';
import { concat, concatMap, defer, EMPTY, map, of, tap, type Observable } from 'rxjs';
import type { GearMonkeyClient } from '../gearmonkey/client.js';
import type { Job } from '../job/job.js';
import { isFinal } from '../job/job-state.js';
import type { FunctionRef, InputOf, OutputOf } from '../job/job-definition.js';
import { checkOptions, optionNames } from '../job/known-options.js';

/** The id of the last event: a browser that connects again behind it has all there is. */
const END_ID = 'end';

/** Where a browser's `EventSource` goes on. */
export interface SseOptions {
  /** The request's header `Last-Event-ID`, which a browser sends when it connects again. @default from the beginning */
  lastEventId?: string | undefined;
}

/** Options of `sseWatch`. */
export interface SseWatchOptions<J extends Job = Job> extends SseOptions {
  /** What a browser gets of the job. @default its `state` and `progress` */
  data?: (job: J) => unknown;
}

const OUTPUT = optionNames<Required<SseOptions>>({ lastEventId: true });
const WATCH = optionNames<Required<SseWatchOptions>>({ lastEventId: true, data: true });

/**
 * What a job streams as server-sent events for a method with `@Sse`: an event for each chunk, whose `data` is the chunk as
 * JSON and whose `id` is its number. When the job has finished, an event `end` follows with its state, such as
 * `{ "state": "succeeded" }`, and the response ends. A browser that connects again gets what comes behind the last event that it has, and 204
 * behind `end`, with which it stops. Whether the user may see the job is for the caller to check.
 *
 * @throws JobNotFoundError, before the response begins · HttpException with the status 204 behind `end` ·
 * ConfigurationError
 */
export async function sseOutput(
  jobs: GearMonkeyClient,
  ref: FunctionRef,
  id: string | number,
  options: SseOptions = {},
): Promise<Observable<MessageEvent>> {
  const { lastEventId } = checkOptions('sseOutput', options, OUTPUT);
  endBehindEnd(lastEventId);
  // Once the response has begun, it can't be a 404.
  await jobs.getOrThrow(ref, id);
  const chunks = jobs.outputEntries(ref, id, { after: numberIn(lastEventId) });
  const events = chunks.pipe(map(({ number, value }) => eventOf(String(number), value)));
  // It also completes when the client closes: then the browser goes on elsewhere.
  const end = defer(() => jobs.get(ref, id).catch(() => null)).pipe(concatMap(endOf));
  return concat(events, end);
}

/**
 * A job's states as server-sent events for a method with `@Sse`: what it is now, and after each change; then an event `end`
 * as that of `sseOutput`, and 204 behind it. A browser that connects again begins with what the job is then.
 *
 * @throws the same as `sseOutput`
 */
export async function sseWatch<F extends FunctionRef>(
  jobs: GearMonkeyClient,
  ref: F,
  id: string | number,
  options: SseWatchOptions<Job<InputOf<F>, OutputOf<F>>> = {},
): Promise<Observable<MessageEvent>> {
  const { lastEventId, data = shortly } = checkOptions('sseWatch', options, WATCH);
  endBehindEnd(lastEventId);
  await jobs.getOrThrow(ref, id);
  return defer(() => {
    let last: Job | null = null;
    let count = 0;
    const events = jobs.watch(ref, id).pipe(
      tap((job) => (last = job)),
      map((job) => eventOf(String((count += 1)), data(job))),
    );
    return concat(
      events,
      defer(() => endOf(last)),
    );
  });
}

function shortly({ state, progress }: Job) {
  return { state, progress };
}

/** The data is JSON also if it is text: lines that end with CR would not arrive as they are. */
function eventOf(id: string, data: unknown): MessageEvent {
  return { id, data: JSON.stringify(data ?? null) };
}

function endOf(job: Job | null): Observable<MessageEvent> {
  return job && isFinal(job.state) ? of({ type: 'end', ...eventOf(END_ID, { state: job.state }) }) : EMPTY;
}

/** An answer that is not 200 is how a browser is told to stop. */
function endBehindEnd(lastEventId: string | undefined): void {
  if (lastEventId === END_ID) throw new HttpException('', HttpStatus.NO_CONTENT);
}

/** The header is what a browser says: anything else than a number counts as none. */
function numberIn(lastEventId: string | undefined): number {
  return lastEventId !== undefined && /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : 0;
}
