import { FUNCTION_INDEX, keysOf, SCHEDULE_INDEX } from '../gearmonkey/core/wire/protocol.js';
import { AHEAD_MS, readFunctions } from '../gearmonkey/core/wire/function-index.js';
import type { ExaminedFunction, Examination } from '../gearmonkey/core/examination.js';

const MOST_FUNCTIONS = 200;
const SCAN_STEPS = 200;
const SCAN_COUNT = 500;

/** Keys that only GearMonkey writes. */
const CERTAIN = [/^queue:(.+):(?:high|normal|low|scheduled)$/, /^(?:lease|workers|ticks):(.+)$/];
/** Keys that other programs may have, too. */
const LIKELY = [/^(?:uid|count|control|schedules):(.+)$/, /^job:(.+):[^:]+$/];

/** The functions of a server, from their index and a bounded scan of its keys, which finds those that only plain programs use. */
export async function findFunctions(examination: Examination): Promise<ExaminedFunction[]> {
  const { redis } = examination;
  const [certain, likely] = [new Set<string>(), new Set<string>()];
  const scheduled = await examination.look('schedules', () => redis.hscan(SCHEDULE_INDEX, 0, 'COUNT', 1000));
  scheduled?.[1].forEach((text, index) => index % 2 === 1 && certain.add(text));
  const indexed = await examination.look('functions', () =>
    readFunctions.run(redis, [FUNCTION_INDEX], AHEAD_MS, MOST_FUNCTIONS),
  );
  // An entry may outlive its function, or be no name that keys can have.
  for (const fn of indexed ?? []) likely.add(fn);
  const isWhole = await examination.look('SCAN', () =>
    scan(examination, (key) => {
      for (const fn of namesIn(key, CERTAIN)) certain.add(fn);
      for (const fn of namesIn(key, LIKELY)) likely.add(fn);
    }),
  );
  for (const fn of likely) {
    const isKnown = certain.has(fn) || certain.size >= MOST_FUNCTIONS;
    if (!isKnown && (await redis.exists(keysOf(fn).ids)) > 0) certain.add(fn);
  }
  if (isWhole === false)
    examination.skip('all functions', `there are very many keys. Name functions: doctor FN...`);
  if (certain.size > MOST_FUNCTIONS)
    examination.skip('all functions', `there are more than ${MOST_FUNCTIONS}. Name them: doctor FN...`);
  const names = [...certain].sort().slice(0, MOST_FUNCTIONS);
  return names.map((fn) => ({ fn, keys: keysOf(fn) }));
}

/** Returns whether it has seen all keys. */
async function scan({ redis }: Examination, seen: (key: string) => void): Promise<boolean> {
  let cursor = '0';
  for (let step = 0; step < SCAN_STEPS; step++) {
    const [next, keys] = await redis.scan(cursor, 'COUNT', SCAN_COUNT);
    for (const key of keys) seen(key);
    if (next === '0') return true;
    cursor = next;
  }
  return false;
}

function namesIn(key: string, patterns: readonly RegExp[]): string[] {
  return patterns.flatMap((pattern) => pattern.exec(key)?.[1] ?? []);
}
