/**
 * Runs the programs of package.json's scripts and of `npm run check`, after preparing what they need.
 *
 *   node scripts/run.mjs NAME [args]
 *   node scripts/run.mjs check [NAME] [args]    without a name, lists the checks
 *
 * Imports only Node's own modules: this runs before anything is installed.
 */
import { spawn, spawnSync } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { JEST } from './jest.mjs';

/**
 * @typedef {object} Program
 * @property {string[]} needs steps of prepare.mjs
 * @property {string[]} node arguments of Node
 * @property {string} [says] what it does, for the list of checks
 * @property {Record<string, string>} [env] variables it gets unless they are set
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const TYPESCRIPT = ['--enable-source-maps', '--import', './scripts/typescript.mjs'];

/** @type {Record<string, Program>} */
const SCRIPTS = {
  test: { needs: ['packages', 'servers', 'build'], node: ['scripts/test.mjs', 'fast'] },
  'test:full': { needs: ['packages', 'servers', 'build'], node: ['scripts/test.mjs', 'full', '--retry'] },
  demo: { needs: ['packages', 'build'], node: ['sample/run.mjs', 'demo'] },
  sample: { needs: ['packages', 'build'], node: ['sample/run.mjs'] },
  docs: { needs: ['packages', 'site'], node: ['site/run.mjs'] },
  lint: { needs: ['packages', 'build'], node: ['scripts/lint.mjs'] },
  bench: { needs: ['packages', 'build'], node: [...TYPESCRIPT, 'bench/run.mjs'] },
  release: { needs: ['packages'], node: ['scripts/release/main.mjs'] },
};

/** @type {Record<string, Program>} */
const CHECKS = {
  chaos: {
    says: 'faults in real processes on Redis, with a check of the whole history; --minutes 30 --seed 7',
    needs: ['packages', 'servers', 'build'],
    node: [...TYPESCRIPT, 'test/chaos/main.ts'],
  },
  'jobd-kills': {
    says: 'random SIGKILLs of jobd daemons, masters and their database; JOBD_KILLS=100',
    needs: ['packages', 'servers', 'build'],
    node: [...JEST, 'test/jobd/daemon/history'],
    env: { JOBD_KILLS: '100' },
  },
  recurring: {
    says: 'each job of many schedules once while workers are killed, stopped and cut off; RECURRING_TICKS=10000',
    needs: ['packages', 'servers'],
    node: [...JEST, 'test/gearmonkey/schedules/kills'],
    env: { RECURRING_TICKS: '10000' },
  },
  soak: {
    says: 'the same work for a long time, to detect leaks; --minutes 10',
    needs: ['packages', 'servers'],
    node: [...TYPESCRIPT, 'test/soak/soak.ts'],
  },
  backlog: {
    says: 'whether a backlog makes jobs more expensive, up to 1,500,000 waiting jobs; --max 10000',
    needs: ['packages', 'build'],
    node: [...TYPESCRIPT, 'bench/backlog.mjs'],
  },
  scaling: {
    says: 'figures for one Redis server and for the masters of a cluster',
    needs: ['packages', 'servers', 'build'],
    node: [...TYPESCRIPT, 'test/scaling/figures.ts'],
  },
  'jq-kills': {
    says: 'JQ with kills, lost replies of every route, and a full or failing Redis; JQ_WAVES=200 JQ_STORM=20 JQ_SEED=1',
    needs: ['packages', 'servers', 'build'],
    node: [...JEST, 'test/jq/kills', '--testTimeout', '3600000'],
    env: { JQ_WAVES: '200', JQ_STORM: '20' },
  },
  environments: {
    says: 'the packed package on other versions of Node and Nest, with pnpm, tsx, vitest, Jest and the Nest CLI',
    needs: ['packages', 'servers', 'build'],
    node: [...JEST, '--testMatch', '**/environments.check.ts', '--testTimeout', '900000'],
  },
  browser: {
    says: "the dashboard's page with 1,000,000 jobs, 200 functions and 20 tabs; PICTURES=folder keeps pictures of each view",
    needs: ['packages', 'servers', 'build'],
    node: [...JEST, '--testMatch', '**/*.browser.ts', '--testTimeout', '900000'],
  },
  mutants: {
    says: 'single changes of the code, each of which a test of `npm test` must notice; mutants claim jq',
    needs: ['packages', 'servers', 'build'],
    node: [...TYPESCRIPT, 'test/mutants/main.ts'],
  },
  'jq-load': {
    says: '100,000 JQ jobs, with all limits checked while they run',
    needs: ['packages', 'servers'],
    node: [...TYPESCRIPT, 'test/jq/load/main.ts'],
  },
};

const [name = '', ...args] = process.argv.slice(2);
if (name === 'check') check(...args);
else run(SCRIPTS, name, args);

function check(asked = '', ...rest) {
  if (Object.hasOwn(CHECKS, asked)) return run(CHECKS, asked, rest);
  const width = Math.max(...Object.keys(CHECKS).map((one) => one.length));
  console.log('Checks that take too long for `npm run test:full`: npm run check -- NAME [args]\n');
  for (const [one, { says }] of Object.entries(CHECKS)) console.log(`  ${one.padEnd(width)}  ${says}`);
  if (asked !== '') fail(`Expected a check from the list above; got ${asked}.`);
}

/**
 * @param {Record<string, Program>} programs
 * @param {string} asked
 * @param {string[]} rest
 */
function run(programs, asked, rest) {
  const program = Object.hasOwn(programs, asked) ? programs[asked] : undefined;
  if (!program) {
    return fail(
      `Expected one of ${[...Object.keys(programs), 'check'].join(', ')}; got ${asked || 'nothing'}.`,
    );
  }
  const { status } = spawnSync(process.execPath, ['scripts/prepare.mjs', ...program.needs], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) return void (process.exitCode = status ?? 1);
  const child = spawn(process.execPath, [...program.node, ...rest], {
    cwd: root,
    stdio: 'inherit',
    env: { ...program.env, ...process.env },
  });
  // A terminal sends SIGINT to the child too; other signals only reach this process.
  process.on('SIGINT', () => {});
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => child.kill(signal));
  }
  child.on('error', (error) => fail(error.message));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (signal ? constants.signals[signal] : 0);
  });
}

/** @param {string} message */
function fail(message) {
  console.error(`run: ${message}`);
  process.exitCode = 2;
}
