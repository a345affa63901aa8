import { claimKeys } from '../gearmonkey/core/wire/protocol.js';
import * as scripts from '../gearmonkey/core/wire/scripts.js';
import {
  type Examination,
  type Finding,
  type Fix,
  type ExaminedFunction,
  sampleJobs,
  plainly,
  type Suspicion,
} from '../gearmonkey/core/examination.js';
import { readState, type FunctionState } from './function-state.js';
import { FEATURE_CHECKS } from '../gearmonkey/features/checks.js';
import { checkLists } from './list-checks.js';
import { checkPlaces, checkQueues } from './queue-checks.js';

const LEASE_MS = 8_000;
const MAX_STALLS = 3;
const MAX_INPUT = 1024 * 1024;

/** Looks at a function once. */
export async function suspectFunction(
  examination: Examination,
  examined: ExaminedFunction,
): Promise<Suspicion[]> {
  const state = await readState(examination, examined);
  if (state.wrongTypes.length > 0) return [...state.wrongTypes];
  const found = [
    stuckLeases(examination, examined, state),
    wrongCount(examination, examined, state),
    noWorker(examined, state),
  ];
  const samples = await checkSamples(examination, examined, state);
  return [...found.flatMap((finding) => (finding ? [plainly(finding)] : [])), ...samples];
}

/** Compares samples of a function's indexes with its jobs. What can't be read leaves the rest. */
async function checkSamples(
  examination: Examination,
  examined: ExaminedFunction,
  state: FunctionState,
): Promise<Suspicion[]> {
  const look = (what: string, check: () => Promise<Suspicion[]>) =>
    examination.look(`${what} of functions`, check);
  const jobs =
    (await examination.look('jobs of functions', () => sampleJobs(examination, examined, state.now))) ?? [];
  const found = await Promise.all([
    look('jobs', () => checkQueues(examination, examined)),
    look('jobs', () => checkPlaces(examination, examined, state, jobs)),
    look('lists', () => checkLists(examination, examined, state, jobs)),
    ...FEATURE_CHECKS.map(({ of, check }) =>
      look(of, () => check(examination, { ...examined, ...state, jobs })),
    ),
  ]);
  return found.flatMap((suspicions) => suspicions ?? []);
}

function stuckLeases(
  { redis }: Examination,
  { fn, keys: k }: ExaminedFunction,
  { stuck }: FunctionState,
): Finding | undefined {
  if (stuck.length === 0) return undefined;
  const recover = () =>
    scripts.claim.run(redis, claimKeys(k), '', LEASE_MS, 0, MAX_STALLS, 1, MAX_INPUT, '', '', []);
  return {
    code: 'STUCK_LEASES',
    severity: 'error',
    fn,
    title: `${stuck.length} jobs of ${fn} have lost their worker, and no worker puts them back into their queue.`,
    remedy: `Start a worker of ${fn} with this package, which does so.`,
    fix: { does: 'puts them back, as a worker would', apply: recover },
  };
}

function wrongCount(
  { redis }: Examination,
  { fn, keys }: ExaminedFunction,
  { count, alive = 0, dead }: FunctionState,
): Finding | undefined {
  const fix: Fix = {
    does: 'a roll call, which corrects the count',
    apply: () => scripts.presence.run(redis, [keys.count, keys.workers], '', '', 0, 0),
  };
  const finding = (title: string): Finding => ({
    code: 'WORKER_COUNT',
    severity: 'warning',
    fn,
    title,
    remedy: `Make a roll call: gearmonkey workers ${fn}.`,
    fix,
  });
  if (count !== undefined && !/^-?\d+$/.test(count)) return finding(`${keys.count} is not a whole number.`);
  if (dead > 0) return finding(`${keys.count} counts ${dead} workers that have died.`);
  if (Number(count ?? 0) >= alive) return undefined;
  return finding(`${keys.count} says ${count ?? 'nothing'}, but ${alive} workers of this package are there.`);
}

function noWorker(
  { fn }: ExaminedFunction,
  { waiting, count, alive, dead, paused }: FunctionState,
): Finding | undefined {
  if (alive === undefined || alive > 0 || paused || waiting === 0) return undefined;
  if ((Number(count) || 0) - dead > 0) return undefined;
  return {
    code: 'NO_WORKER',
    severity: 'warning',
    fn,
    title: `${waiting} jobs of ${fn} wait, and it has no worker.`,
    remedy: `Start a worker of ${fn}; or remove its jobs with drain() if it is no longer used.`,
  };
}
