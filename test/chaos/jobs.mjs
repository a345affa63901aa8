// What the suite's jobs are and do: for its workers, its producers and, as types, its checker.
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

export const FAST = 'chaos:fast';
export const SLOW = 'chaos:slow';
export const BLOCK = 'chaos:block';
/** Run by workers of ours and by a plain one. */
export const SHARED = 'chaos:shared';
/** What a hostile client writes. */
export const ODD = 'chaos:odd';
/** Its jobs fail until an operator has retried them. */
export const MENDED = 'chaos:mended';
/** Created and run by plain actors only. */
export const PLAIN = 'chaos:plain';
/** Functions whose limits count jobs by their tenant. */
export const LIMITED = 'chaos:limited';
export const RATED = 'chaos:rated';
export const STRICT = 'chaos:strict';
/** Its handler runs many jobs at once. */
export const BATCHED = 'chaos:batched';
/** Its jobs wait for each other, and for slow ones. */
export const FLOWN = 'chaos:flown';
/** Its jobs wait for each other, and an operator ends, changes and follows them while their flows are being created. */
export const OPENED = 'chaos:opened';

/** Functions our workers run, and how many jobs of each at a time. */
export const HANDLED = {
  ...{ [FAST]: 20, [SLOW]: 30, [BLOCK]: 1, [SHARED]: 2, [ODD]: 2, [MENDED]: 5 },
  ...{ [LIMITED]: 6, [RATED]: 6, [STRICT]: 6, [BATCHED]: 2, [FLOWN]: 5, [OPENED]: 20 },
};

export const TENANTS = ['ada', 'ben', 'cleo'];

/** Of some of the fast jobs. */
export const TAG = 'of:some';

/** Low enough that keys are full now and then, and high enough that all jobs end. */
export const LIMITS = {
  [LIMITED]: { concurrency: 2 },
  [RATED]: { rate: { max: 5, per: 1000 } },
  [STRICT]: { order: 'strict' },
};

/** The option `limit` of a function. */
export function limitOf(fn) {
  return LIMITS[fn] && { ...LIMITS[fn], key: ({ tenant }) => tenant };
}

/** The option `batch` of a function. */
export function batchOf(fn) {
  return fn === BATCHED ? { size: 10, wait: '20ms' } : undefined;
}

/** Jobs whose key this process has held. */
const holders = new Set();

/** Tries that a job of this kind has. */
export const ATTEMPTS = { flaky: 4, failing: 3, hanging: 2, steps: 4 };

/** The steps of a job of that kind. */
export const STEPS = ['one', 'two', 'three', 'four', 'five'];

/** One handler for all kinds: the input says what to do. `hostile` is what can be thrown, `note` writes into the history. */
export async function perform(input, job, hostile = [], note = () => undefined) {
  if (typeof input === 'string') return input.toUpperCase();
  if (input.kind === 'waiting') await waitFor(input.signals, job);
  if (input.kind === 'racing') job.log(`${input.n} is told as it runs`);
  if (input.kind === 'steps') return performSteps(input, job, note);
  if (input.kind === 'blocking') block(input.ms);
  else if (input.kind === 'cancelled' || (input.kind === 'hanging' && input.obeys))
    await sleep(input.ms, undefined, { signal: job.signal });
  else if (input.ms > 0) await sleep(input.ms);
  if (input.kind === 'holding' && !holders.has(input.n)) {
    holders.add(input.n);
    job.holdKey(300);
  }
  if (input.kind === 'failing' || (input.kind === 'flaky' && job.attempts <= input.failures))
    throw new Error(`${input.kind} as told`);
  // The number of the claim counts on when a job is retried.
  if (input.kind === 'mended' && job.claim.token % 1_000_000 <= input.rounds)
    throw new Error('mended as told');
  if (input.kind === 'hostile') throw hostile[input.which % hostile.length]?.[1]();
  if (input.kind === 'flow') return performFlow(input, job);
  const { n, pad } = input;
  return { n, token: job.claim.token, ...(pad === undefined ? {} : { pad, hash: hashOf(pad) }) };
}

/** Waits for one signal, or for the first of several. */
function waitFor(signals, job) {
  if (signals.length === 1) return job.waitFor(signals[0], { timeout: '8s' });
  return job.waitForAny(signals, { timeout: '8s' });
}

/** Puts out which jobs it waited for. */
async function performFlow({ n, fails }, job) {
  const parents = await job.parents();
  if (fails) throw new Error('flow as told');
  return {
    n,
    token: job.claim.token,
    parents: parents.map(({ output, state }) => output?.n ?? (state === 'succeeded' ? state : 'error')),
  };
}

/** Jobs of a new flow, parents first: each with the numbers of those that it waits for. `n` makes a name. */
export function makeFlow(random, n) {
  const width = random.int(1, 6);
  const parents = [[], ...Array.from({ length: width }, () => [0])];
  if (random.next() < 0.5) parents.push([width]);
  parents.push(parents.map((_, number) => number).slice(1));
  const names = parents.map(() => n());
  return parents.map((after, number) => ({
    fn: random.next() < 0.7 ? FLOWN : SLOW,
    after,
    input: {
      n: names[number],
      kind: 'flow',
      after: after.map((parent) => names[parent]),
      policy: random.next() < 0.5 ? 'run' : 'fail',
      ms: random.int(0, 30),
      fails: random.next() < 0.05,
    },
  }));
}

/** Its attempts fail behind another step each. The history has each step's beginning, and what was told to be recorded. */
async function performSteps({ n, ms, failures }, job, note) {
  const { fn, id, token } = job.claim;
  const steps = [];
  for (const [index, name] of STEPS.entries()) {
    let ran = false;
    const by = await job.step(name, async () => {
      ran = true;
      note({ e: 'step', fn, id, token, name });
      if (ms > 0) await sleep(ms);
      return token;
    });
    if (ran) note({ e: 'recorded', fn, id, token, name });
    steps.push(by);
    if (index < failures && job.attempts === index + 1) throw new Error('steps as told');
  }
  return { n, token, steps };
}

export function hashOf(text) {
  return createHash('sha256').update(text).digest('base64');
}

function block(ms) {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** A job by chance: the function, the input, and the options of `run`. */
export function makeJob(random, n, { lease, blocking, large, hostile = 0 }) {
  const chance = random.next();
  const input = (kind, more) => ({ n, kind, ...more });
  const retry = (kind, delay) => ({ retry: { attempts: ATTEMPTS[kind], backoff: 'fixed', delay } });
  if (chance < blocking)
    return { fn: BLOCK, input: input('blocking', { ms: Math.round(lease * 1.25) }), options: {} };
  const rare = random.next();
  if (large && rare < large.part)
    return { fn: SLOW, input: input('large', { pad: text(random, large.bytes) }), options: {} };
  if (rare > 1 - hostile)
    return { fn: SLOW, input: input('hostile', { which: random.int(0, 1000) }), options: {} };
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
  if (chance < 0.145) {
    const key = `key ${random.int(0, 4)}`;
    return {
      fn: SLOW,
      input: input('unique', { key, ms: random.int(0, 100) }),
      options: { unique: { key } },
    };
  }
  if (chance < 0.155)
    return { fn: SLOW, input: input('expiring', { ms: random.int(0, 50) }), options: expiring(random) };
  if (chance < 0.22) return limitedJob(random, input, retry);
  if (chance < 0.25) {
    const signals = random.next() < 0.5 ? ['go'] : ['stop', 'go'];
    return { fn: SLOW, input: input('waiting', { signals }), options: {} };
  }
  if (chance < 0.255)
    return { fn: BATCHED, input: input('racing', { ms: random.int(0, 60) }), options: { jobTimeout: 100 } };
  if (chance < 0.26)
    return { fn: BATCHED, input: input('cancelled', { ms: random.int(0, 60) }), options: {} };
  if (chance < 0.28) {
    const flaky = random.next() < 0.3 ? { failures: random.int(1, 3) } : {};
    const kind = flaky.failures ? 'flaky' : 'batched';
    return {
      fn: BATCHED,
      input: input(kind, { ms: random.int(0, 20), ...flaky }),
      options: retry('flaky', 50),
    };
  }
  if (chance < 0.3)
    return {
      fn: SLOW,
      input: input('steps', { ms: random.int(0, 60), failures: random.int(0, 3) }),
      options: retry('steps', 30),
    };
  const tags = random.next() < 0.1 ? { tags: [TAG, `n:${n}`] } : {};
  return {
    fn: FAST,
    input: input('fast', { ms: random.int(0, 5) }),
    options: { ...placed(random), ...tags },
  };
}

/** Of a tenant, most of them of the first. */
function limitedJob(random, input, retry) {
  const tenant = TENANTS[Math.min(random.int(0, 2), random.int(0, 2))];
  const [kinds, part] = [random.next(), random.next()];
  if (kinds < 0.3) {
    if (part < 0.15) {
      const flaky = { ms: random.int(0, 20), failures: random.int(1, 3), tenant };
      return { fn: STRICT, input: input('flaky', flaky), options: retry('flaky', 50) };
    }
    if (part < 0.2) return { fn: STRICT, input: input('cancelled', { ms: 2000, tenant }), options: {} };
    return { fn: STRICT, input: input('limited', { ms: random.int(0, 20), tenant }), options: {} };
  }
  const kind = part < 0.03 ? 'holding' : 'limited';
  if (kinds < 0.6)
    return { fn: RATED, input: input(kind, { ms: random.int(0, 50), tenant }), options: placed(random) };
  return { fn: LIMITED, input: input(kind, { ms: random.int(50, 400), tenant }), options: placed(random) };
}

/** Half of them expire before they are due. */
function expiring(random) {
  return { delay: random.int(1, 2000), expires: 1000 };
}

/** No two are alike, so that mixed-up parts are noticed. */
function text(random, bytes) {
  const word = Math.floor(random.next() * 2 ** 32).toString(36);
  return word.repeat(Math.ceil(bytes / word.length)).slice(0, bytes);
}

function placed(random) {
  const chance = random.next();
  if (chance < 0.03) return { delay: random.next() * 3000 };
  if (chance < 0.1) return { priority: 'high' };
  return chance < 0.2 ? { priority: 'low' } : {};
}
