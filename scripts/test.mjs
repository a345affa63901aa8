/**
 * Runs a tier of the tests, and ends with the line "N passed, N failed" (", N skipped" if there are any).
 *
 *   node scripts/test.mjs TIER [--retry] [arguments of Jest]
 *
 *   fast      the suites `*.spec.ts`, without what they define with `inFullTier`
 *   full      these in full, and the suites `*.full.ts`
 *   --retry   suites that fail, if they are few, run once more, alone. Those that then pass are named in a line "flaky: …"
 *
 * With RECORD_DURATIONS=1, what each suite took goes into test/durations.json, which orders the suites.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, constants, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { JEST } from './jest.mjs';

/**
 * @typedef {object} Suite
 * @property {string} name file name of the suite, from the folder of the project
 * @property {boolean} failed
 * @property {number} seconds
 * @property {{ status: string, fullName: string }[]} tests none if the suite could not run
 */

/** With more suites that fail, it is not chance. */
const MOST_RETRIED = 2;
const SPECS = ['--testMatch=**/*.spec.ts'];
/**
 * The runs of Jest of each tier, and what these are told. Many suites of the full tier start several programs: with as many of
 * them at once as of the others, each would wait so long for a core that its times ran out.
 */
const TIERS = {
  fast: [SPECS],
  full: [
    ['--testMatch=**/*.full.ts', `--maxWorkers=${availableParallelism()}`, '--passWithNoTests'],
    [...SPECS, '--passWithNoTests'],
  ],
};

const root = fileURLToPath(new URL('..', import.meta.url));
const [tier = '', ...rest] = process.argv.slice(2);
if (!Object.hasOwn(TIERS, tier)) {
  console.error(`test: Expected one of ${Object.keys(TIERS).join(', ')}; got ${tier || 'nothing'}.`);
  process.exit(2);
}
const retries = rest.includes('--retry');
const args = rest.filter((arg) => arg !== '--retry');
/** @type {import('node:child_process').ChildProcess | undefined} */
let jest;
/** @type {NodeJS.Signals | undefined} */
let stopped;
// A terminal sends SIGINT to Jest too; other signals only reach this process.
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(signal, () => {
    stopped = signal;
    if (signal !== 'SIGINT') jest?.kill(signal);
  });
}

const folder = mkdtempSync(join(tmpdir(), 'gearmonkey-tests-'));
try {
  process.exitCode = await main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function main() {
  /** @type {Suite[]} */
  let suites = [];
  let status = 0;
  for (const own of TIERS[/** @type {keyof typeof TIERS} */ (tier)]) {
    if (stopped) break;
    // The tier's own come last: Jest would take names of suites behind them for more of their kind.
    const run = await runJest([...args, ...own]);
    suites.push(...run.suites);
    status ||= run.status;
  }
  if (suites.length === 0 || stopped) return closing(suites, status || 1);
  if (process.env.RECORD_DURATIONS) record(suites);
  const failed = suites.filter((suite) => suite.failed);
  if (retries && failed.length > 0 && failed.length <= MOST_RETRIED) {
    const again = await retry(failed.map(({ name }) => name));
    suites = suites.map((suite) => again.find(({ name }) => name === suite.name) ?? suite);
    status = suites.some((suite) => suite.failed) ? 1 : 0;
    tellFlaky(failed, suites);
  }
  return closing(suites, status);
}

/**
 * Each alone, in a process of its own.
 * @param {string[]} names
 */
async function retry(names) {
  const again = [];
  for (const name of names) {
    console.log(`\nOnce more, alone: ${name}`);
    const { suites } = await runJest([...configOf(args), '--runInBand', '--runTestsByPath', name]);
    again.push(...suites);
  }
  return again;
}

/** @param {Suite[]} failed as they were at first @param {Suite[]} suites as they are now */
function tellFlaky(failed, suites) {
  const flaky = failed.filter(({ name }) => suites.some((suite) => suite.name === name && !suite.failed));
  for (const { name, tests } of flaky) {
    const which = tests.filter((test) => test.status === 'failed').map((test) => test.fullName);
    console.log(`flaky: ${name}${which.length > 0 ? ` (${which.join('; ')})` : ''}`);
  }
}

/** @param {Suite[]} suites @param {number} status of Jest, which may fail for a reason that no suite shows */
function closing(suites, status) {
  if (suites.length === 0) console.log('Jest ended before it had a result.');
  const count = (/** @type {string[]} */ ...kinds) =>
    suites.flatMap((suite) => suite.tests).filter((test) => kinds.includes(test.status)).length;
  const passed = count('passed');
  // A suite may fail though none of its tests did: one that could not be loaded, or that could not clean up.
  const broken = suites.filter(
    (suite) => suite.failed && !suite.tests.some(({ status }) => status === 'failed'),
  );
  const failed = count('failed') + broken.length;
  const skipped = count('pending', 'todo', 'skipped', 'disabled');
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  if (stopped) return 128 + constants.signals[stopped];
  return status !== 0 ? status : failed > 0 || passed === 0 ? 1 : 0;
}

/**
 * @param {string[]} jestArgs
 * @returns {Promise<{ suites: Suite[], status: number }>}
 */
async function runJest(jestArgs) {
  const output = join(folder, 'result.json');
  rmSync(output, { force: true });
  const status = await new Promise((resolve) => {
    jest = spawn(process.execPath, [...JEST, '--json', `--outputFile=${output}`, ...jestArgs], {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, TEST_TIER: tier },
    });
    jest.on('error', (error) => resolve((console.error(`test: ${error.message}`), 2)));
    jest.on('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
  return { suites: suitesIn(output), status };
}

/** @param {string} output @returns {Suite[]} */
function suitesIn(output) {
  let text;
  try {
    text = readFileSync(output, 'utf8');
  } catch {
    return [];
  }
  const { testResults } = JSON.parse(text);
  return testResults.map((/** @type {any} */ { name, status, startTime, endTime, assertionResults }) => ({
    name: relative(root, name),
    failed: status === 'failed',
    seconds: (endTime - startTime) / 1000,
    tests: assertionResults,
  }));
}

/**
 * Those that did not run keep their durations.
 * @param {Suite[]} suites
 */
function record(suites) {
  const file = join(root, 'test/durations.json');
  const durations = new Map(Object.entries(JSON.parse(readFileSync(file, 'utf8'))));
  for (const { name, seconds } of suites) durations.set(name, Math.round(seconds * 10) / 10);
  const kept = [...durations].filter(([name]) => existsSync(join(root, name)));
  const sorted = kept.toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
}

/** @param {string[]} asked what a suite that runs alone needs of them too */
function configOf(asked) {
  return asked.filter((arg) => arg.startsWith('--config='));
}
