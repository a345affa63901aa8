import { describe, expect, it } from '@jest/globals';
import { check, INVARIANT_NAMES } from './checker.js';
import { ClaimLog } from './claim-log.js';
import type {
  Away,
  Fields,
  FlowNote,
  History,
  LimitedClaim,
  Mending,
  Reading,
  StatisticsSeen,
  Written,
} from './history.js';
import { ENDED_STATES, type Entries, type FunctionIndexes, type Indexes } from './indexes.js';
import { FAST, HANDLED, LIMITED, MENDED, ODD, RATED, STEPS, STRICT, TAG } from './jobs.mjs';

const job = { fn: 'f', id: '1' };
const KEY = 'f#1';
const ended: Fields = {
  status: 'success',
  input: '{"n":"p/1","kind":"fast"}',
  output: '{"n":"p/1","token":1}',
  created: '1',
  finished: '5',
  token: '1',
  attempts: '1',
  settled: '1',
};
const start = { ...job, token: 1, at: 2, process: 'worker0.0' };

/** One job, created, run and finished as it should be, but for `change`. */
function history(change: Partial<History> = {}, fields: Fields = ended): History {
  const readings = new Map([[KEY, { ...job, fields }]]);
  return {
    lease: 2000,
    maxStalls: 3,
    enqueueTimeout: 5000,
    attempts: { flaky: 4 },
    enqueued: [{ ...job, n: 'p/1', kind: 'fast', took: 1 }],
    unsure: [],
    starts: [start],
    ends: [{ ...start, ok: true }],
    cancels: [],
    results: [],
    calls: [],
    steps: [],
    recorded: [],
    flows: [],
    finishes: [{ ...job, at: 5 }],
    firstReadings: readings,
    readings,
    laterReadings: readings,
    written: new Map([[KEY, { completions: 1, changes: [] }]]),
    limited: { claims: [], ended: new Map() },
    counts: [],
    leftovers: [],
    plain: { takes: new Map(), repeated: new Set() },
    crashes: [],
    ...change,
  };
}

/** A job that waited for another: what is stored of both, and what their flow said. */
function inFlow(
  parent: Fields = {},
  child: Fields = {},
  policy = 'fail',
  said: Partial<FlowNote> = { total: 2, done: 2, failed: 0 },
): History {
  const input = (n: string, after: readonly string[]) =>
    JSON.stringify({ n, kind: 'flow', after, policy, fails: false });
  const first = {
    ...ended,
    input: input('p/1', []),
    finished: '1',
    output: '{"n":"p/1","parents":[]}',
    ...parent,
  };
  const second = {
    ...ended,
    input: input('p/2', ['p/1']),
    output: '{"n":"p/2","parents":["p/1"]}',
    ...child,
  };
  const readings = new Map([
    [KEY, { ...job, fields: first }],
    ['f#2', { ...job, id: '2', fields: second }],
  ]);
  return history({
    readings,
    laterReadings: readings,
    firstReadings: readings,
    starts: [start, { ...start, id: '2' }],
    flows: [{ ...job, names: ['p/1', 'p/2'], at: 6, ...said }],
  });
}

/** Two jobs of one unique key. */
const twoUnique = (started: string) => {
  const input = (n: string) => JSON.stringify({ n, kind: 'unique', key: 'key' });
  const [first, second] = [
    { ...ended, input: input('p/1'), started: '2' },
    { ...ended, input: input('p/2'), started, output: '{"n":"p/2","token":1}' },
  ];
  const both = new Map([
    [KEY, { ...job, fields: first }],
    ['f#2', { fn: 'f', id: '2', fields: second }],
  ]);
  return { readings: both, firstReadings: both, laterReadings: both };
};

const readings = (fields: Fields) => new Map([[KEY, { ...job, fields }]]);
const withFields = (change: Fields) => history({}, { ...ended, ...change });
const broken = (given: History) => check(given).map(({ invariant }) => invariant);
const stalled = (stalls: number) => ({
  status: 'error',
  output: 'stalled',
  error: '{"code":"JOB_STALLED"}',
  stalls: String(stalls),
  attempts: String(stalls),
});

/** Claims of one key, each given as [id, from, until, started]. */
function claims(fn: string, ...given: readonly (readonly number[])[]): LimitedClaim[] {
  return given.map(([id = 0, from = 0, until = Infinity, started = 0]) => {
    return { fn, id: String(id), token: 1, key: 'ada', started, from, until };
  });
}

const limited = (given: LimitedClaim[], ended: Readonly<Record<string, number>> = {}) =>
  history({ limited: { claims: given, ended: new Map(Object.entries(ended)) } });

/** Handlers of one key whose outcomes were accepted, each from its start to its end. */
function handlers(fn: string, ...spans: readonly (readonly [number, number])[]): History {
  const starts = spans.map(([at], i) => ({ fn, id: String(i + 1), token: 1, at, process: 'worker0.0' }));
  const ends = starts.map((one, i) => ({ ...one, at: spans[i]?.[1] ?? 0, ok: true }));
  const fields = (id: string) => ({ ...ended, key: 'ada', input: `{"n":"p/${id}"}` });
  return history({
    ...{ enqueued: [], starts, ends, finishes: [], written: new Map() },
    ...{ firstReadings: new Map(), laterReadings: new Map() },
    readings: new Map(starts.map(({ id }) => [`${fn}#${id}`, { fn, id, fields: fields(id) }])),
  });
}

const EXPIRING = { options: '{"expires":4}', started: '3' };
const expired = (change: Fields = {}): Fields => ({
  ...ended,
  ...EXPIRING,
  ...{ input: '{"n":"p/1","kind":"expiring"}', status: 'error', output: 'expired', attempts: '0' },
  ...{ error: '{"code":"JOB_EXPIRED"}', ...change },
});

const EMPTY = { newest: [], oldest: [], total: 0 };
const NONE: FunctionIndexes = {
  ended: { succeeded: [], failed: [], cancelled: [] },
  ...{ retrying: [], queued: [] },
  listed: {
    ...{ waiting: EMPTY, scheduled: EMPTY, retrying: EMPTY, running: EMPTY },
    ...{ succeeded: EMPTY, failed: EMPTY, cancelled: EMPTY },
  },
  tagged: [],
};

/** Two jobs of a function succeeded, one failed and one was cancelled; their lists are as they should be, but for `change`. */
function indexed(
  change: (right: FunctionIndexes) => Partial<FunctionIndexes> = () => ({}),
  fn = FAST,
): History {
  const error = (code: string) => ({ ...ended, status: 'error', error: JSON.stringify({ code }) });
  const jobs: Fields[] = [ended, { ...ended, finished: '7' }, error('E'), error('JOB_CANCELLED')];
  const { output: _, finished: __, settled: ___, ...unlisted } = ended;
  const fields = [...jobs, unlisted];
  const read = new Map(fields.map((one, i) => [`${fn}#${i + 1}`, { fn, id: String(i + 1), fields: one }]));
  const list = (...ids: readonly string[]) => ({ newest: ids, oldest: ids.toReversed(), total: ids.length });
  const right: FunctionIndexes = {
    ...NONE,
    ended: {
      succeeded: [
        ['1', 5],
        ['2', 7],
      ],
      failed: [['3', 5]],
      cancelled: [['4', 5]],
    },
    listed: { ...NONE.listed, succeeded: list('2', '1'), failed: list('3'), cancelled: list('4') },
  };
  const own = { ...right, ...change(right) };
  return {
    ...history({}, ended),
    laterReadings: new Map([...readings(ended), ...read]),
    indexes: indexesOf(fn, own),
  };
}

function indexesOf(fn: string, own: FunctionIndexes): Indexes {
  const byFunction = new Map(Object.keys(HANDLED).map((name) => [name, name === fn ? own : NONE]));
  const overview = [...byFunction].map(([name, { ended: lists }]) => ({
    ...{ fn: name, waiting: { high: 0, normal: 0, low: 0 }, scheduled: 0, retrying: 0, running: 0 },
    ...{ succeeded: lists.succeeded.length, failed: lists.failed.length, cancelled: lists.cancelled.length },
    ...{ limitsFull: 0, paused: false, workers: 3 },
  }));
  return { functions: Object.keys(HANDLED), byFunction, overview, findings: [] };
}

const inLists = (change: Partial<Record<(typeof ENDED_STATES)[number], Entries>>) =>
  indexed((right) => ({ ended: { ...right.ended, ...change } }));
const onPages = (change: Partial<FunctionIndexes['listed']>) =>
  indexed((right) => ({ listed: { ...right.listed, ...change } }));
const withIndexes = (change: Partial<Indexes>): History => {
  const given = indexed();
  return { ...given, ...(given.indexes && { indexes: { ...given.indexes, ...change } }) };
};
/** A job with the tag, and what is found by it. */
function tagged(ids: readonly string[]): History {
  const own = indexed(() => ({ tagged: ids }));
  const fields = { ...ended, options: JSON.stringify({ tags: [TAG] }) };
  return {
    ...own,
    laterReadings: new Map([...own.laterReadings, [`${FAST}#1`, { fn: FAST, id: '1', fields }]]),
  };
}
/** A job that succeeded, and what statistics say. */
function counted(
  counts: { done: number; failed: number },
  disturbances: StatisticsSeen['disturbances'] = [],
): History {
  const job = { fn: FAST, id: '1' };
  return history({
    readings: new Map([[`${FAST}#1`, { ...job, fields: ended }]]),
    ends: [{ ...start, ...job, at: 5, ok: true }],
    written: new Map([[`${FAST}#1`, { completions: 1, successes: 1, changes: [] }]]),
    statistics: { counted: new Map([[FAST, counts]]), disturbances },
  });
}
/** A job of the operator, as the server wrote it, and what calls answered. */
function mended(written: Written, mendings: readonly Mending[], fields?: Fields): History {
  const job = { fn: MENDED, id: '1' };
  const read = fields ? new Map([[`${MENDED}#1`, { ...job, fields }]]) : new Map<string, Reading>();
  return {
    ...history(),
    ...{ readings: read, written: new Map([[`${MENDED}#1`, written]]) },
    operator: { reads: 1, readErrors: new Map(), mendings },
  };
}
/** A job whose first step is stored as that of `token`, and whose output says that of claim 1. */
const withSteps = (token: number): Fields => ({
  ...ended,
  output: '{"n":"p/1","token":1,"steps":[1,1,1,1,1]}',
  ...Object.fromEntries(STEPS.map((name) => [`step:${name}`, '1:1:1'])),
  'step:one': `1:1:${token}`,
});
const once = { completions: 1, changes: [], retries: 0 };
const retriedOnce = { completions: 2, changes: [], retries: 1 };
const FINDING = { code: 'WAITING_IN_NO_QUEUE', fn: FAST, title: 'so it is' };

/** For each invariant, histories that break it. */
const BROKEN: Readonly<Record<string, readonly History[]>> = {
  'every acknowledged job ends': [
    history({}, { ...ended, status: 'idle' }),
    history({}, { ...ended, status: 'busy' }),
    history({ readings: new Map(), firstReadings: new Map() }),
    history({ enqueued: [] }, { ...ended, status: 'idle' }),
    history({ plain: { takes: new Map([['g', 1]]), repeated: new Set() } }, { ...ended, status: 'idle' }),
  ],
  'no job is created twice': [
    history({ readings: new Map([...readings(ended), ['f#2', { fn: 'f', id: '2', fields: ended }]]) }),
  ],
  'a unique key has one unfinished job': [history(twoUnique('4'))],
  'a job is completed once': [
    history({ written: new Map([[KEY, { completions: 2, changes: [] }]]) }),
    history({
      finishes: [
        { ...job, at: 5 },
        { ...job, at: 6 },
      ],
    }),
  ],
  'a final result stays': [
    history({ laterReadings: readings({ ...ended, output: '{"n":"p/1","token":2}' }) }),
    history({ laterReadings: readings({ ...ended, status: 'error' }) }),
    history({ laterReadings: new Map() }),
    history({ firstReadings: readings({ ...ended, output: 'else' }) }),
    history({ written: new Map([[KEY, { completions: 1, changes: ['success → output else'] }]]) }),
  ],
  'the accepted outcome is the one of its claim': [withFields({ token: '2', attempts: '2', settled: '2' })],
  'a claim is run once': [history({ starts: [start, { ...start, process: 'worker1.0' }] })],
  'attempts and stalls keep their bounds': [
    withFields({ attempts: '2' }),
    withFields({ stalls: '4', attempts: '5' }),
    withFields(stalled(5)),
    withFields(stalled(2)),
    withFields({ input: '{"n":"p/1","kind":"flaky"}', attempts: '5' }),
  ],
  'a job ends as its kind does': [
    withFields({ status: 'error', output: 'ouch' }),
    withFields({ input: '{"n":"p/1","kind":"failing"}' }),
    withFields({ input: '{"n":"p/1","kind":"hanging"}' }),
    withFields({ input: '"p/1"', output: '"p/1"' }),
  ],
  'cancel tells the truth': [history({ cancels: [{ ...job, told: true }] })],
  'a waiter learns the result': [
    history({ results: [{ ...job, n: 'p/2', at: 6 }] }),
    history({ results: [{ ...job, code: 'WAIT_TIMEOUT', at: 60_000 }] }),
  ],
  'a waiter learns of no other job': [history({ results: [{ ...job, of: 'p/1', n: 'p/2', at: 6 }] })],
  'a call gets its own output, or says why not': [
    history({ calls: [{ n: 'p/1', got: 'p/2', took: 5, at: 6 }] }),
    history({ calls: [{ n: 'p/1', code: 'WAIT_TIMEOUT', took: 60_000, at: 60_000 }] }),
    history({ calls: [{ n: 'p/1', code: 'JOB_FAILED', took: 5, at: 6 }] }),
    history({ calls: [{ n: 'p/1', code: 'ECONNRESET', took: 5, at: 6 }] }),
    history({ calls: [{ n: 'p/1', got: 'p/1', took: 90_000, at: 90_000 }] }),
  ],
  'an enqueue answers by its deadline': [
    history({ unsure: [{ fn: 'f', n: 'p/2', code: 'ENQUEUE_TIMEOUT', took: 11_000 }] }),
  ],
  'no limit is exceeded': [
    limited(claims(LIMITED, [1, 1, 9], [2, 2, 9], [3, 3, 9])),
    limited(claims(LIMITED, [1, 1], [2, 2], [3, 3])),
    limited(claims(RATED, ...[0, 200, 400, 600, 800, 1000].map((at, i) => [i + 1, i, i, at]))),
    limited(claims(STRICT, [1, 1, 9], [2, 8, 9])),
  ],
  'handlers keep limits': [handlers(LIMITED, [1, 9], [2, 9], [8, 9]), handlers(STRICT, [1, 9], [8, 12])],
  'strict order holds': [
    limited(claims(STRICT, [1, 1, 2], [2, 3, 4], [1, 5, 6]), { [`${STRICT}#1`]: 6, [`${STRICT}#2`]: 4 }),
    limited(claims(STRICT, [1, 1, 2], [2, 3, 4])),
    limited(claims(STRICT, [2, 1, 2], [1, 3, 4]), { [`${STRICT}#2`]: 2 }),
  ],
  'an expired job is not run': [
    withFields({ ...EXPIRING, started: '5' }),
    history({}, expired({ attempts: '1' })),
    history({}, expired({ finished: '3' })),
  ],
  'counts converge': [history({ counts: [{ fn: 'f', expected: 3, seen: 4, when: 'now' }] })],
  'each ended job is in its list, and nothing else': [
    inLists({ succeeded: [['1', 5]] }),
    inLists({
      succeeded: [
        ['1', 5],
        ['2', 8],
      ],
    }),
    inLists({
      failed: [
        ['3', 5],
        ['1', 5],
      ],
    }),
    inLists({ cancelled: [] }),
    inLists({
      failed: [
        ['3', 5],
        ['9', 5],
      ],
    }),
    inLists({
      succeeded: [
        ['1', 5],
        ['2', 7],
        ['5', 5],
      ],
    }),
    inLists({
      failed: [
        ['3', 5],
        ['x', 5],
      ],
    }),
    indexed(() => ({ queued: ['1'] })),
    indexed(() => ({ queued: ['9', '9'] })),
  ],
  'pages have all jobs of a state': [
    onPages({ succeeded: { newest: ['1', '2'], oldest: ['2', '1'], total: 2 } }),
    onPages({ succeeded: { newest: ['2'], oldest: ['2'], total: 2 } }),
    onPages({ succeeded: { newest: ['2', '1'], oldest: ['2', '1'], total: 2 } }),
    onPages({ succeeded: { newest: ['2', '1', '1'], oldest: ['1', '1', '2'], total: 2 } }),
    onPages({ succeeded: { newest: ['2', '1'], oldest: ['1', '2'], total: 3 } }),
    onPages({ failed: { newest: ['3', '1'], oldest: ['1', '3'], total: 1 } }),
  ],
  'the overview counts the jobs': [
    withIndexes({ functions: [] }),
    withIndexes({ overview: [] }),
    inLists({ succeeded: [['1', 5]] }),
    indexed(() => ({ queued: ['9'] })),
    onPages({ waiting: { newest: ['9'], oldest: ['9'], total: 1 } }),
  ],
  'tags find their jobs': [
    indexed(() => ({ tagged: ['1'] })),
    indexed(() => ({ tagged: ['9'] })),
    tagged([]),
    tagged(['1', '1']),
  ],
  'a recorded step does not run again': [
    history({ recorded: [{ ...start, name: 'one' }], steps: [{ ...start, token: 2, name: 'one' }] }),
  ],
  'a step is recorded once': [
    history({
      written: new Map([[KEY, { ...once, steps: new Map([['one', new Set(['1:1:1', '1:1:2'])]]) }]]),
    }),
  ],
  'a step gives what was recorded': [
    withFields({ output: '{"n":"p/1","token":1,"steps":[1,1,1,1,1]}', 'step:one': '1:1:2' }),
    history({ recorded: [{ ...start, token: 2, name: 'one' }] }, withSteps(1)),
    history({}, withSteps(2)),
  ],
  'a job of a flow begins behind its parents': [inFlow({ finished: '9' })],
  'a job of a flow ends as its parents say': [
    inFlow({ status: 'error' }),
    inFlow({}, { output: '{"n":"p/2","token":1,"parents":["p/9"]}' }),
    inFlow({ status: 'error' }, { status: 'error', error: '{"code":"PARENT_FAILED"}' }, 'run'),
  ],
  'a flow counts each job once': [
    inFlow({}, {}, 'fail', { total: 2, done: 1, failed: 1 }),
    inFlow({}, {}, 'fail', { total: 3, done: 2, failed: 0 }),
    inFlow({}, {}, 'fail', { code: 'JOB_NOT_FOUND' }),
    inFlow({}, {}, 'fail', { code: 'WAIT_TIMEOUT', at: 60_000 }),
  ],
  'statistics count what happened': [
    counted({ done: 2, failed: 0 }),
    counted({ done: 1, failed: 1 }),
    counted({ done: 0, failed: 0 }),
    counted({ done: 0, failed: 0 }, [{ process: 'worker1.0', began: 1, ended: 9 }]),
  ],
  'a retried job ends once more, a discarded one is gone': [
    mended({ ...once, retries: 1 }, [], ended),
    mended(retriedOnce, [{ verb: 'retry', told: 2 }], ended),
    mended(once, [{ verb: 'retry', id: '1', told: 1 }], ended),
    mended(once, [{ verb: 'discard', id: '1', told: 1 }], ended),
    mended(once, [{ verb: 'retry', id: '1', told: 'REFUSED' }], ended),
    mended({ ...once, deleted: true }, [], ended),
  ],
  'readers are answered': [
    history({ operator: { reads: 1, readErrors: new Map([['TypeError', 1]]), mendings: [] } }),
  ],
  'the doctor finds nothing': [withIndexes({ findings: [FINDING] })],
  'no id waits in two places': [history({ doubled: ['f#1: queue:f:normal and queue:f:scheduled'] })],
  'nothing is left behind': [history({ leftovers: ['lease:f'] })],
  'no process crashes': [history({ crashes: ['worker0.0 ended by itself: 1'] })],
};

describe('The history checker', () => {
  it('accepts a job without faults', () => {
    expect(check(history())).toEqual([]);
  });

  it.each(INVARIANT_NAMES)('detects that this does not hold: %s', (name) => {
    expect(BROKEN[name]?.length).toBeGreaterThan(0);
    for (const given of BROKEN[name] ?? []) expect(broken(given)).toContain(name);
  });

  it('accepts lists that have the jobs that scripts ended', () => {
    const about = INVARIANT_NAMES.filter((name) => /list|pages|overview|doctor/.test(name));
    expect(broken(indexed()).filter((name) => about.includes(name))).toEqual([]);
    const madeUp = indexed(
      (right) => ({
        ended: {
          ...right.ended,
          failed: [
            ['3', 5],
            ['x', 5],
          ],
        },
      }),
      ODD,
    );
    expect(broken(madeUp)).not.toContain('each ended job is in its list, and nothing else');
    const lost = {
      ...withIndexes({ findings: [FINDING] }),
      plain: { takes: new Map([[FAST, 1]]), repeated: new Set<string>() },
    };
    expect(broken(lost)).not.toContain('the doctor finds nothing');
  });

  it('accepts steps that ran once each', () => {
    const recorded = STEPS.map((name) => ({ ...start, name }));
    const written = new Map([[KEY, { ...once, steps: new Map([['one', new Set(['1:1:1'])]]) }]]);
    expect(check(history({ recorded, steps: recorded, written }, withSteps(1)))).toEqual([]);
  });

  it('judges what a failover has taken back of a flow by what handlers did', () => {
    const [began, counted] = ['a job of a flow begins behind its parents', 'a flow counts each job once'];
    const late = { ...inFlow({ finished: '9' }), failedOver: 8 };
    expect(broken({ ...late, ends: [{ ...start, at: 1, ok: true }] })).not.toContain(began);
    expect(broken({ ...late, ends: [{ ...start, at: 7, ok: true }] })).toContain(began);
    expect(broken({ ...late, failedOver: 1, ends: [{ ...start, at: 1, ok: true }] })).toContain(began);
    // A process that was held up begins what the failed master gave; the new one gives the same claim again.
    const again = { ...late, failedOver: 1, starts: [...late.starts, { ...start, id: '2', at: 10 }] };
    expect(broken({ ...again, ends: [{ ...start, at: 1, ok: true }] })).not.toContain(began);
    expect(broken({ ...again, ends: [{ ...start, at: 7, ok: true }] })).toContain(began);
    const gone = {
      ...inFlow(),
      readings: new Map(),
      flows: [{ ...job, names: ['p/7'], total: 1, done: 1, failed: 0, at: 6 }],
    };
    expect(broken(gone)).toContain(counted);
    expect(broken({ ...gone, failedOver: 8 })).not.toContain(counted);
  });

  it('counts attempts by the stalls that workers were told of before a failover took one back', () => {
    const name = 'attempts and stalls keep their bounds';
    const tried = { ...withFields({ attempts: '2' }), starts: [{ ...start, stalls: 1 }] };
    expect(broken({ ...tried, failedOver: 8 })).not.toContain(name);
    expect(broken(tried)).toContain(name);
    const another = [{ ...start, token: 1_000_001, stalls: 1 }];
    expect(broken({ ...tried, starts: another, failedOver: 8 })).toContain(name);
  });

  it('accepts a flow', () => {
    const about = INVARIANT_NAMES.filter((name) => name.includes('flow'));
    expect(about).toHaveLength(3);
    const gaveUp = (at: number, starved = 0) => inFlow({}, {}, 'fail', { code: 'WAIT_TIMEOUT', at, starved });
    const away = { away: [[5_000, 55_000]] as const };
    for (const good of [inFlow(), gaveUp(6), gaveUp(60_000, 50_000), { ...gaveUp(60_000), ...away }])
      expect(broken(good).filter((name) => about.includes(name))).toEqual([]);
  });

  it('accepts that who waits gives up soon after the server is there again, which read its file', () => {
    const [results, calls] = [
      [{ ...job, code: 'WAIT_TIMEOUT', at: 60_000 }],
      [{ n: 'p/1', code: 'WAIT_TIMEOUT', took: 60_000, at: 60_000 }],
    ];
    const names = ['a waiter learns the result', 'a call gets its own output, or says why not'];
    const about = (away: readonly Away[]) =>
      broken(history({ results, calls, away })).filter((name) => names.includes(name));
    expect(about([])).toEqual(names);
    expect(about([[5_000, 55_000]])).toEqual([]);
    expect(about([[5_000, 25_000]])).toEqual(names);
  });

  it('accepts jobs that are found by their tag', () => {
    expect(broken(tagged(['1']))).not.toContain('tags find their jobs');
  });

  it('accepts statistics that lack what was not yet written when something broke', () => {
    const name = 'statistics count what happened';
    expect(broken(counted({ done: 1, failed: 0 }))).not.toContain(name);
    for (const broke of [{ process: start.process }, {}])
      expect(broken(counted({ done: 0, failed: 0 }, [{ ...broke, began: 7, ended: 9 }]))).not.toContain(name);
  });

  it('accepts jobs that an operator has retried or discarded', () => {
    const name = 'a retried job ends once more, a discarded one is gone';
    const retries: Mending[] = [
      { verb: 'retry', id: '1', told: 1 },
      { verb: 'retry', id: '1', told: 'CONNECTION' },
    ];
    expect(broken(mended(retriedOnce, retries, ended))).not.toContain(name);
    expect(broken(mended(retriedOnce, retries, ended))).not.toContain('a job is completed once');
    const discarded = mended({ ...once, deleted: true }, [{ verb: 'discard', id: '1', told: 1 }]);
    expect(broken(discarded)).not.toContain(name);
  });

  it('accepts what limits allow', () => {
    const two = claims(LIMITED, [1, 1, 3], [2, 2, 9], [3, 3, 9], [4, 9]);
    expect(check(limited(two))).toEqual([]);
    const five = [0, 200, 400, 600, 800, 1001].map((at, i) => [i + 1, i, i, at]);
    expect(check(limited(claims(RATED, ...five)))).toEqual([]);
    const retried = claims(STRICT, [1, 1, 2], [1, 3, 4], [2, 5, 6]);
    expect(check(limited(retried, { [`${STRICT}#1`]: 4 }))).toEqual([]);
    expect(broken(handlers(STRICT, [1, 9], [9, 12]))).not.toContain('handlers keep limits');
  });

  it('accepts a job that expired before it was run', () => {
    expect(check(history({ starts: [], ends: [] }, expired()))).toEqual([]);
  });

  it('accepts a job whose unique key had another that has ended', () => {
    expect(check(history(twoUnique('5')))).toEqual([]);
  });

  it('accepts a job that stalled too often and ended as an error', () => {
    expect(check(withFields(stalled(4)))).toEqual([]);
  });

  it('accepts that a plain worker loses as many jobs as it lost replies, and no more', () => {
    const plain = { takes: new Map([['f', 1]]), repeated: new Set<string>() };
    const lost = { ...ended, status: 'idle' };
    expect(check(history({ plain }, lost))).toEqual([]);
    const two = new Map([...readings(lost), ['f#2', { fn: 'f', id: '2', fields: { ...lost, input: '{}' } }]]);
    expect(broken(history({ plain, readings: two }, lost))).toEqual(['every acknowledged job ends']);
  });

  it('accepts that a plain worker repeats an outcome after a lost reply', () => {
    const written = new Map([[KEY, { completions: 2, changes: ['success → status success'] }]]);
    const plain = { takes: new Map(), repeated: new Set([KEY]) };
    expect(check(history({ written, plain }))).toEqual([]);
  });
});

describe('The log of claims', () => {
  const lease = `lease:${RATED}`;
  const job = `job:${RATED}:7`;
  function read(...commands: readonly string[][]): ClaimLog {
    const log = new ClaimLog();
    for (const command of commands) log.read(command);
    return log;
  }

  it('has a claim from its lease to its end, also if that is renewed', () => {
    const { claims: found, ended: ends } = read(
      ['HSET', job, 'input', '{}', 'status', 'idle', 'key', 'ada'],
      ['HSET', job, 'status', 'busy', 'started', '5'],
      ['ZADD', lease, '100', '7:1'],
      ['ZREM', lease, '7:1'],
      ['ZADD', lease, '200', '7:1'],
      ['ZREM', lease, '7:1'],
      ['HSET', job, 'status', 'success'],
    );
    expect(found).toEqual([{ fn: RATED, id: '7', token: 1, key: 'ada', started: 5, from: 3, until: 6 }]);
    expect(ends).toEqual(new Map([[`${RATED}#7`, 7]]));
  });

  it('has no claim of a job that is only given its key', () => {
    const { claims: found } = read(
      ['HSET', job, 'status', 'busy', 'started', '5'],
      ['ZADD', lease, '100', '7:1'],
      ['ZREM', lease, '7:1'],
      ['HSET', job, 'status', 'idle', 'key', 'ada'],
      ['HSET', job, 'status', 'busy', 'started', '9'],
      ['ZADD', lease, '200', '7:2'],
    );
    expect(found).toMatchObject([{ token: 2, started: 9, from: 6, until: Infinity }]);
  });
});
