import { isFinal } from './fields.js';
import { keyOf, type History, type Mending } from './history.js';
import { MENDED } from './jobs.mjs';
import { found, type Violation } from './violation.js';

/** What the documents say of a server that can't be reached. */
const EXPECTED_CODES = new Set(['CONNECTION']);
/** Another call may have deleted the job. */
const MENDING_CODES = new Set([...EXPECTED_CODES, 'JOB_NOT_FOUND']);

/** A retried job is run again and ends once more; a discarded one is gone, and nothing is written of it again. */
export function* mendedOnce({ written, readings, operator }: History): Iterable<Violation> {
  if (!operator) return;
  const mended = [...written].filter(([key]) => key.startsWith(`${MENDED}#`));
  for (const [key, { completions, retries = 0, deleted = false }] of mended) {
    const fields = readings.get(key)?.fields;
    if (deleted && fields) yield found(key, 'it was discarded, and is there');
    const rounds = retries + 1;
    const expected = isFinal(fields) || deleted;
    if (expected && completions !== rounds)
      yield found(key, `it ended ${completions} times, and was retried ${retries} times`);
  }
  yield* toldTheTruth(new Map(mended), operator.mendings);
}

/** What calls answered, against what the server wrote: one job at a time by its id, and all together. */
function* toldTheTruth(written: History['written'], mendings: readonly Mending[]): Iterable<Violation> {
  let total = 0;
  let retried = 0;
  const byId = new Map<string, number>();
  for (const { retries = 0 } of written.values()) {
    retried += retries;
  }
  for (const { verb, id, told } of mendings) {
    if (typeof told === 'string') {
      if (!MENDING_CODES.has(told)) yield found(`${verb} of ${id ?? 'all'}`, `it ended as ${told}`);
      continue;
    }
    if (verb === 'retry') total += told;
    if (id === undefined) continue;
    const key = `${verb} ${id}`;
    byId.set(key, (byId.get(key) ?? 0) + told);
  }
  if (total > retried) yield found(MENDED, `calls told of ${total} retries, and there were ${retried}`);
  for (const [key, told] of byId) {
    const [verb = '', id = ''] = key.split(' ');
    const { retries = 0, deleted = false } = written.get(keyOf({ fn: MENDED, id })) ?? {};
    if (verb === 'retry' && told > retries) yield found(key, `told ${told} times, and there were ${retries}`);
    if (verb === 'discard' && told > 0 && !deleted) yield found(key, 'told so, but it was not discarded');
  }
}

/** Who reads during faults gets an answer, or a documented error. */
export function* readersAreAnswered({ operator }: History): Iterable<Violation> {
  for (const [code, times] of operator?.readErrors ?? [])
    if (!EXPECTED_CODES.has(code)) yield found('reading', `${times} calls ended as ${code}`);
}
