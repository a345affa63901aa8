// What the suite's jobs are and do: for its workers, its producers and, as types, its checker.
import { setTimeout as sleep } from 'node:timers/promises';

export const FAST = 'chaos:fast';
export const SLOW = 'chaos:slow';
export const BLOCK = 'chaos:block';
/** Run by workers of ours and by a plain one. */
export const SHARED = 'chaos:shared';
/** Created and run by plain actors only. */
export const PLAIN = 'chaos:plain';

/** Functions our workers run, and how many jobs of each at a time. */
export const HANDLED = { [FAST]: 20, [SLOW]: 30, [BLOCK]: 1, [SHARED]: 2 };

/** Tries that a job of this kind has. */
export const ATTEMPTS = { flaky: 4, failing: 3, hanging: 2 };

/** One handler for all kinds: the input says what to do. */
export async function perform(input, job) {
  if (typeof input === 'string') return input.toUpperCase();
  if (input.kind === 'blocking') block(input.ms);
  else if (input.kind === 'cancelled' || (input.kind === 'hanging' && input.obeys))
    await sleep(input.ms, undefined, { signal: job.signal });
  else if (input.ms > 0) await sleep(input.ms);
  if (input.kind === 'failing' || (input.kind === 'flaky' && job.attempts <= input.failures))
    throw new Error(`${input.kind} as told`);
  return { n: input.n, token: job.claim.token };
}

function block(ms) {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** A job by chance: the function, the input, and the options of `run`. */
export function makeJob(random, n, { lease, blocking }) {
  const chance = random.next();
  const input = (kind, more) => ({ n, kind, ...more });
  const retry = (kind, delay) => ({ retry: { attempts: ATTEMPTS[kind], backoff: 'fixed', delay } });
  if (chance < blocking)
    return { fn: BLOCK, input: input('blocking', { ms: Math.round(lease * 1.25) }), options: {} };
  if (chance < 0.06)
    return { fn: SLOW, input: input('slow', { ms: random.int(50, 300) }), options: placed(random) };
  if (chance < 0.09)
    return {
      fn: SLOW,
      input: input('flaky', { ms: random.int(0, 20), failures: random.int(1, 3) }),
      options: retry('flaky', 50),
    };
  if (chance < 0.1) return { fn: SLOW, input: input('failing', { ms: 1 }), options: retry('failing', 30) };
  if (chance < 0.105)
    return {
      fn: SLOW,
      input: input('hanging', { ms: 2000, obeys: random.next() < 0.5 }),
      options: { ...retry('hanging', 50), jobTimeout: 200 },
    };
  if (chance < 0.115) return { fn: SLOW, input: input('cancelled', { ms: 2000 }), options: placed(random) };
  if (chance < 0.135) return { fn: SHARED, input: `shared ${n}`, options: {} };
  return { fn: FAST, input: input('fast', { ms: random.int(0, 5) }), options: placed(random) };
}

function placed(random) {
  const chance = random.next();
  if (chance < 0.03) return { scheduled: Date.now() / 1000 + random.next() * 3 };
  if (chance < 0.1) return { priority: 'high' };
  return chance < 0.2 ? { priority: 'low' } : {};
}
