/**
 * Prepares a fresh clone. Does only what is still missing, and prints a line for each step.
 *
 *   node scripts/prepare.mjs [packages] [site] [servers] [build]
 *
 *   packages   the npm packages of package-lock.json
 *   site       the npm packages of site/package-lock.json, which only the documentation site needs
 *   servers    programs that the tests use: Redis, MariaDB and PostgreSQL servers, Chromium, Python, tmux
 *   build      dist/, from lib/ and dashboard/
 *
 * Imports only Node's own modules: this runs before anything is installed.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Debian installs mariadbd in a folder that is only on root's PATH. */
const searchPath = [process.env.PATH, '/usr/sbin', '/usr/local/sbin'].join(delimiter);

/** The server that the tests start, as in test/support/redis-server.ts. */
const REDIS = process.env.REDIS_SERVER ?? 'redis-server';

const SERVER_NEEDS = [
  { name: REDIS, check: [REDIS, '--version'], packages: ['redis-server'] },
  { name: 'mariadbd', check: ['mariadbd', '--version'], packages: ['mariadb-server'] },
  {
    name: 'postgres',
    // Debian has a folder for each version's programs.
    check: ['sh', '-c', 'command -v initdb || ls /usr/lib/postgresql/*/bin/initdb'],
    packages: ['postgresql'],
  },
  { name: 'openssl', check: ['openssl', 'version'], packages: ['openssl'] },
  // A browser for the tests of the dashboard.
  { name: 'chromium', check: ['chromium', '--version'], packages: ['chromium'] },
  { name: 'tmux', check: ['tmux', '-V'], packages: ['tmux'] },
  {
    name: "/usr/bin/python3 with the module 'redis'",
    check: ['/usr/bin/python3', '-c', 'import redis'],
    packages: ['python3-redis'],
  },
  {
    name: "/usr/bin/python3 with the module 'msgpack'",
    check: ['/usr/bin/python3', '-c', 'import msgpack'],
    packages: ['python3-msgpack'],
  },
  {
    name: "php with the extension 'redis'",
    check: ['php', '-r', 'exit(extension_loaded("redis") ? 0 : 1);'],
    packages: ['php-cli', 'php-redis'],
  },
];

/** Prevents Debian's packages from starting system services: the tests start their own servers. */
const INSTALL_WITHOUT_STARTING = `
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 130' HUP INT TERM
    printf '#!/bin/sh\\nexit 101\\n' > "$policy" && chmod 755 "$policy"
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get -q -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "$@"
`;

const STEPS = {
  packages: () => installPackages('.'),
  site: () => installPackages('site'),
  servers: installServers,
  build,
};

/** @param {string} folder one that has a package-lock.json */
function installPackages(folder) {
  const installed = modifiedAt(`${folder}/node_modules/.package-lock.json`);
  if (installed > 0 && installed >= modifiedAt(`${folder}/package-lock.json`)) return;
  console.log(`prepare: installing the npm packages${folder === '.' ? '' : ` of ${folder}/`}`);
  if (npm(folder, 'ci')) return;
  // A lock file from a registry without binaries of other platforms is incomplete for `npm ci`, but not for `npm install`.
  console.log(
    'prepare: `npm ci` failed; trying `npm install --no-save`, which keeps to the locked versions too',
  );
  if (npm(folder, 'install', '--no-save')) return;
  fail('npm could not install the packages; see its output above. Expected access to the npm registry.');
}

function npm(folder, ...command) {
  // --include=dev: otherwise NODE_ENV=production in the environment would leave out packages that the tests need.
  return run('npm', [...command, '--no-audit', '--no-fund', '--include=dev'], join(root, folder));
}

function installServers() {
  const missing = missingNeeds();
  if (missing.length === 0) return;
  if (!succeeds('apt-get', ['--version'])) failByHand(missing, 'apt-get is not available here');
  const packages = [...new Set(missing.flatMap((need) => need.packages))];
  console.log(`prepare: installing ${packages.join(', ')} with apt-get`);
  // If the update fails, the existing package lists may be sufficient.
  runAsRoot(['apt-get', '-q', 'update']);
  if (!runAsRoot(['sh', '-c', INSTALL_WITHOUT_STARTING, 'sh', ...packages])) {
    failByHand(missingNeeds(), 'apt-get failed, see its output above');
  }
  const still = missingNeeds();
  if (still.length > 0) failByHand(still, 'apt-get installed its packages, but they are not to be found');
}

function build() {
  const hasPage = modifiedAt('dashboard/vite.config.ts') > 0;
  const sources = [
    'lib',
    'package.json',
    'tsconfig.json',
    'nest-cli.json',
    'scripts/embed.mjs',
    'scripts/build-lua.mjs',
    'scripts/bundle.mjs',
    'scripts/build-page.mjs',
    'scripts/licenses.mjs',
    ...below('lib'),
    ...(hasPage ? below('dashboard') : []),
  ];
  // What the build makes last.
  if (modifiedAt('dist/chunks') > Math.max(...sources.map(modifiedAt))) return;
  console.log('prepare: building dist');
  if (!run('npm', ['run', 'build'])) fail('`npm run build` failed; see its output above.');
}

function missingNeeds() {
  return SERVER_NEEDS.filter(({ check: [command, ...args] }) => !succeeds(command, args));
}

/** Includes folders: their time changes when a file is removed. */
function below(folder) {
  return readdirSync(join(root, folder), { recursive: true }).map((path) => join(folder, path));
}

/** Modification time in milliseconds; 0 if the file does not exist. */
function modifiedAt(path) {
  return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function succeeds(command, args) {
  return (
    spawnSync(command, args, { stdio: 'ignore', env: { ...process.env, PATH: searchPath } }).status === 0
  );
}

/** The command's output goes to stderr: stdout has only lines of this script. */
function run(command, args, cwd = root) {
  const { error, status } = spawnSync(command, args, { cwd, stdio: ['inherit', 2, 2] });
  if (error) console.error(`prepare: ${command}: ${error.message}`);
  return status === 0;
}

function runAsRoot(command) {
  const [name, ...args] = process.getuid?.() === 0 ? command : ['sudo', '-n', ...command];
  return run(name, args);
}

function fail(message) {
  console.error(`prepare: ${message}`);
  process.exit(1);
}

function failByHand(missing, reason) {
  fail(
    [
      `${reason}. Missing: ${missing.map((need) => need.name).join('; ') || 'nothing any more, try again'}.`,
      'Install by hand what is missing, then run this again:',
      '  Debian, Ubuntu  apt-get install redis-server mariadb-server postgresql openssl chromium tmux python3 python3-redis python3-msgpack php-cli php-redis',
      '  Fedora          dnf install redis mariadb-server postgresql-server openssl chromium tmux python3 python3-redis python3-msgpack php-cli php-pecl-redis5',
      '  macOS           brew install redis mariadb postgresql openssl tmux php && pecl install redis; brew install --cask chromium; /usr/bin/python3 -m pip install --user redis msgpack',
    ].join('\n'),
  );
}

const asked = process.argv.slice(2);
const unknown = asked.filter((step) => !Object.hasOwn(STEPS, step));
if (asked.length === 0 || unknown.length > 0) {
  fail(`Expected one or more of ${Object.keys(STEPS).join(', ')}; got ${unknown.join(', ') || 'nothing'}.`);
}
for (const [step, prepare] of Object.entries(STEPS)) {
  if (asked.includes(step)) prepare();
}
