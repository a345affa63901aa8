import { codeOf, isFinal, parse } from './fields.js';
import { keyOf, type History, type LimitedClaim } from './history.js';
import { LIMITS } from './jobs.mjs';
import { found, type Violation } from './violation.js';

/** Something that counts for a key's limit, from one instant to another. */
interface Span {
  readonly fn: string;
  readonly id: string;
  readonly key: string;
  readonly from: number;
  readonly until: number;
}

/** By the server's own order: neither more claims of a key at once, nor more starts in a span of time. */
export function* limitsHold({ limited }: History): Iterable<Violation> {
  yield* together(limited.claims, 'claims');
  for (const [subject, claims] of byKey(limited.claims)) {
    const { rate } = LIMITS[claims[0]?.fn ?? ''] ?? {};
    if (!rate) continue;
    const starts = claims.map(({ started }) => started).sort((a, b) => a - b);
    for (const [i, start] of starts.entries()) {
      const span = (starts[i + rate.max] ?? Infinity) - start;
      if (span <= rate.per)
        yield found(subject, `${rate.max + 1} jobs started within ${span} ms, from ${start}`);
    }
  }
}

/** By the clocks of the workers: those handlers whose outcomes were accepted. All processes are on one machine. */
export function* handlersKeepLimits({ starts, ends, readings }: History): Iterable<Violation> {
  const endOf = new Map(ends.map((end) => [`${keyOf(end)}:${end.token}`, end.at]));
  const spans = starts.flatMap((start) => {
    const { fields } = readings.get(keyOf(start)) ?? {};
    const until = endOf.get(`${keyOf(start)}:${start.token}`);
    const accepted = isFinal(fields) && fields?.['settled'] === String(start.token);
    const key = fields?.['key'];
    return accepted && until !== undefined && key !== undefined
      ? [{ ...start, key, from: start.at, until }]
      : [];
  });
  yield* together(spans, 'handlers');
}

function* together(spans: readonly Span[], what: string): Iterable<Violation> {
  for (const [subject, some] of byKey(spans)) {
    const { order, concurrency = order === 'strict' ? 1 : Infinity } = LIMITS[some[0]?.fn ?? ''] ?? {};
    let running: Span[] = [];
    for (const span of some.sort((a, b) => a.from - b.from)) {
      running = [...running.filter(({ until }) => until > span.from), span];
      if (running.length > concurrency)
        yield found(
          subject,
          `${running.length} ${what} at ${span.from}: ${running.map(({ id }) => id).join(', ')}`,
        );
    }
  }
}

/** Jobs of a strict key begin in the order in which they were enqueued, and one holds the key until it has ended. */
export function* strictOrderHolds({ limited: { claims, ended } }: History): Iterable<Violation> {
  const strict = claims.filter(({ fn }) => LIMITS[fn]?.order === 'strict');
  for (const [subject, some] of byKey(strict)) {
    let holder: LimitedClaim | undefined;
    for (const claim of some.sort((a, b) => a.from - b.from)) {
      if (claim.id === holder?.id) continue;
      if (holder && (ended.get(keyOf(holder)) ?? Infinity) > claim.from)
        yield found(subject, `job ${claim.id} began at ${claim.from}, before job ${holder.id} had ended`);
      if (holder && Number(claim.id) < Number(holder.id))
        yield found(subject, `job ${claim.id} began after job ${holder.id}`);
      holder = claim;
    }
  }
}

/** A job that has expired was never begun, and none is begun when its time is over. */
export function* expiredAreNotRun({ readings }: History): Iterable<Violation> {
  for (const [subject, { fields }] of readings) {
    const { expires = Infinity } = (parse(fields['options']) ?? {}) as { expires?: number };
    const attempts = Number(fields['attempts'] ?? 0);
    if (codeOf(fields) === 'JOB_EXPIRED') {
      if (attempts > 0) yield found(subject, `it expired after ${attempts} attempts`);
      if (Number(fields['finished']) < expires) yield found(subject, `it expired before ${expires}`);
    } else if (attempts === 1 && fields['stalls'] === undefined && Number(fields['started']) > expires) {
      yield found(subject, `it began at ${fields['started']}, and had expired at ${expires}`);
    }
  }
}

function byKey<One extends Span | LimitedClaim>(spans: readonly One[]): Map<string, One[]> {
  const keys = new Map<string, One[]>();
  for (const span of spans) {
    if (LIMITS[span.fn] === undefined) continue;
    const subject = `${span.fn}#key ${span.key}`;
    const some = keys.get(subject);
    if (some) some.push(span);
    else keys.set(subject, [span]);
  }
  return keys;
}
