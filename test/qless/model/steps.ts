import fc from 'fast-check';

const JIDS = ['a', 'b', 'c', 'd', 'ü"\\%s'];
export const QUEUES = ['q', 'n'];
const WORKERS = ['w', 'x'];
const GROUPS = ['g', 'h'];
const TAGS = ['s', 't', 'u'];
const RECURRING = ['r', 'o'];

const jid = fc.constantFrom(...JIDS, 'r-1', 'r-2', 'o-1');
const jids = fc.uniqueArray(jid, { minLength: 1, maxLength: 4 });
const queue = fc.constantFrom(...QUEUES);
const worker = fc.constantFrom(...WORKERS);
const group = fc.constantFrom(...GROUPS);
const tags = fc.uniqueArray(fc.constantFrom(...TAGS), { maxLength: 3 });
const priority = fc.constantFrom(-3, 0, 0, 5, 5, 9);
const delay = fc.constantFrom(0, 0, 0, 7, 120);
const retries = fc.constantFrom(0, 1, 5);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

/** Taken as data by what decodes with cjson, and so by everything: it stays as it is. */
const data = fc.constantFrom(
  '{}',
  '{}',
  '[]',
  '{"n":12345678901234567890}',
  '[NaN, 0x10, 01, +1]',
  '"raw\nline"',
);

/** What a log message has beside it: `sound` where it ends up in the history. */
const FIELDS = [
  { text: '{"rate":1.5,"list":[]}', sound: true },
  { text: '{"text":"\\u00fc \\"quoted\\""}', sound: true },
  { text: '{"\\u0077hat":"overridden","when":-1}', sound: true },
  { text: '{"hex":0x10,"octal":01,"plus":+1}', sound: true },
  { text: '{"line":"raw\nbreak"}', sound: true },
  { text: '{"rate":NaN}', sound: false },
  { text: '{"rate":-Infinity}', sound: false },
  { text: '{"cut', sound: false },
  { text: '7', sound: false },
];

/** Set as a number they are none, and the default holds. */
const NO_NUMBERS = ['nan', 'inf', '-inf', 'NaN', 'sixty', ''];

/** As the owner of the job, mostly, and from its queue: otherwise little would be done. */
const honest = fc.nat(9).map((number) => number > 0);
const claim = { jid, honest, worker, queue };

const STEPS = {
  put: {
    ...{ queue, worker, jid, data, delay, priority: optional(priority), tags: optional(tags) },
    ...{ retries: optional(retries), depends: optional(fc.uniqueArray(jid, { maxLength: 3 })) },
  },
  pop: { queue, worker, count: fc.integer({ min: 1, max: 4 }) },
  peek: { queue, count: fc.integer({ min: 1, max: 4 }) },
  complete: { ...claim, data },
  next: { ...claim, next: queue, delay, depends: optional(jids) },
  many: { jids, worker, queue },
  fail: { ...claim, group, data: optional(data) },
  retry: { ...claim, to: queue, delay, group: optional(group) },
  heartbeat: { ...claim, data: optional(data) },
  timeout: { jids },
  cancel: { jids, whole: honest },
  depend: { jid, jids },
  undepend: { jid, jids: optional(jids) },
  priority: { jid, priority },
  tag: { jid, tags },
  untag: { jid, tags },
  track: { jid, tracked: fc.boolean() },
  pause: { queue, paused: fc.boolean() },
  unfail: { queue, group, count: fc.integer({ min: 1, max: 3 }) },
  recur: {
    ...{ queue, jid: fc.constantFrom(...RECURRING), interval: fc.constantFrom(30, 1000), offset: delay },
    ...{ priority, tags, retries, backlog: fc.constantFrom(0, 0, 2) },
  },
  update: {
    ...{ jid: fc.constantFrom(...RECURRING), interval: optional(fc.constantFrom(20, 500)) },
    ...{ queue: optional(queue), priority: optional(priority) },
  },
  unrecur: { jid: fc.constantFrom(...RECURRING) },
  queues: { queue },
  log: { jid, raw: fc.constantFrom(...FIELDS) },
  config: {
    option: fc.constantFrom('heartbeat', 'q-heartbeat', 'grace-period'),
    value: fc.constantFrom(...NO_NUMBERS),
  },
  read: { jids },
} as const;

type Steps = typeof STEPS;
type Values<Record> = {
  [Name in keyof Record]: Record[Name] extends fc.Arbitrary<infer Value> ? Value : never;
};
export type StepOf<Kind extends keyof Steps> = Values<Steps[Kind]>;
export type Kind = keyof Steps;
export type Step = { [Name in Kind]: { readonly do: Name } & StepOf<Name> }[Kind];

/** Frequent ones are those without which the others find nothing to do. */
const WEIGHTS: Partial<Record<Kind, number>> = { put: 6, pop: 8, complete: 2, next: 2, fail: 2, retry: 2 };

function arbitraryOf(kind: Kind): fc.WeightedArbitrary<Step> {
  const step = fc.record<Record<string, unknown>>({ do: fc.constant(kind), ...STEPS[kind] });
  return { arbitrary: step as fc.Arbitrary<Step>, weight: WEIGHTS[kind] ?? 1 };
}

const step = fc.oneof(...(Object.keys(STEPS) as Kind[]).map(arbitraryOf));

/** How many seconds pass before it: mostly few, sometimes a lock's time, a day, or that for which jobs are kept. */
const pause = fc.oneof(
  { arbitrary: fc.constantFrom(0, 0.25, 1, 9), weight: 8 },
  { arbitrary: fc.constantFrom(11, 61, 75), weight: 3 },
  { arbitrary: fc.constantFrom(90_000, 700_000), weight: 1 },
);

/** Work that an earlier call deferred. */
const late = fc.option(fc.record({ set: fc.constantFrom('cancelling', 'stalling'), jids }), { freq: 9 });

export type Late = typeof late extends fc.Arbitrary<infer Value> ? NonNullable<Value> : never;

export const scenario = fc.array(fc.record({ pause, late, step }), {
  minLength: 1,
  maxLength: 60,
  size: 'max',
});

export type Scenario = typeof scenario extends fc.Arbitrary<infer Value> ? Value : never;
