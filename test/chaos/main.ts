/**
 * The fault suite, for any time.
 *
 *   npm run check -- chaos --minutes 30 --seed 7      one run with the package's default leases
 *   npm run check -- chaos --short                    what `npm run test:full` runs, with short leases
 *   npm run check -- chaos --only kill-worker,cut     these faults alone
 *   npm run check -- chaos --keep                     histories and logs are kept in any case
 *   npm run check -- chaos --json                     figures as JSON, progress on stderr
 *
 * Exits with 1 when anything was violated.
 */
import { parseArgs } from 'node:util';
import { summarize, toText } from './report.js';
import { run, type RunOptions } from './run.js';
import { FAULT_KINDS, type FaultKind } from './schedule.js';
import { SHORT_RUN } from './short-run.js';

const MAX_MINUTES = 240;
const MIN_JOBS = 20_000;
const JOBS_A_SECOND = 150;
const CALM_MS = 6000;
const CALLS = { burst: 3000, every: 20_000 };
/** The limit of the package is 1 MiB, with what is around the text. */
const LARGEST = 1024 * 1024 - 1000;

const { values: asked } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
    lease: { type: 'string' },
    only: { type: 'string' },
    short: { type: 'boolean' },
    json: { type: 'boolean' },
    keep: { type: 'boolean', default: false },
  },
});

function optionsOf(): RunOptions {
  const minutes = Math.min(MAX_MINUTES, numberOf('minutes', asked.minutes));
  const duration = minutes * 60_000;
  const jobs = Math.max(MIN_JOBS, Math.round((JOBS_A_SECOND * duration) / 1000));
  return {
    ...(asked.short ? SHORT_RUN : { duration, jobs, calm: CALM_MS, calls: CALLS, largest: LARGEST }),
    ...(asked.lease === undefined ? {} : { lease: numberOf('lease', asked.lease) }),
    ...(asked.only === undefined ? {} : { kinds: asked.only.split(',').map(kindOf) }),
    seed: numberOf('seed', asked.seed),
    keep: asked.keep,
    onProgress: (line) => console.error(`${new Date().toISOString().slice(11, 19)}  ${line}`),
  };
}

function numberOf(option: string, value: string): number {
  if (Number(value) > 0) return Number(value);
  throw new Error(`Expected --${option} to be a number above 0, got ${value}.`);
}

function kindOf(name: string): FaultKind {
  const kind = FAULT_KINDS.find((known) => known === name);
  if (kind) return kind;
  throw new Error(`Expected --only to be of ${FAULT_KINDS.join(', ')}, got ${name}.`);
}

const options = optionsOf();
console.error(
  `chaos: seed ${options.seed}, ${options.duration / 1000} s of faults, at least ${options.jobs} jobs`,
);
const result = await run(options);
console.log(asked.json ? JSON.stringify(summarize(result), null, 2) : toText(result));
if (asked.json && result.violations.length > 0) console.error(toText(result));
process.exitCode = result.violations.length > 0 ? 1 : 0;
