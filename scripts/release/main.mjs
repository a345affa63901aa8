/**
 * Makes a release and checks it; without --dry-run it is published.
 *
 *   npm run release -- --dry-run
 *
 * Ends with 1 and a line for each problem, or with the tarball in this folder. To publish needs a commit with the tag of its version, and
 * .github/workflows/release.yml, since only there npm can record where the package comes from.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LIMITS, megabytes, problemsOfContents, problemsOfSizes, problemsOfVersion } from './rules.mjs';
import { Consumer, pack, run } from './tarball.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const textOf = (/** @type {string} */ path) => readFileSync(join(ROOT, path), 'utf8');
const args = process.argv.slice(2);
const isReal = !args.includes('--dry-run');
const unknown = args.filter((arg) => arg !== '--dry-run');
const folder = mkdtempSync(join(tmpdir(), 'gearmonkey-release-'));

try {
  if (unknown.length > 0) stop([`Expected --dry-run or nothing; got ${unknown.join(' ')}`]);
  await release();
} catch (error) {
  console.error(`release: ${/** @type {Error} */ (error).message}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function release() {
  const manifest = JSON.parse(textOf('package.json'));
  stop([...problemsOfTree(manifest), ...problemsOfVersion(manifest, textOf('CHANGELOG.md'), { isReal })]);
  done(`version ${manifest.version}, and nothing that is not committed`);

  run(ROOT, 'npm', 'run', 'build');
  const { file, paths, packed, unpacked } = pack(ROOT);
  stop(problemsOfContents(paths, manifest));
  done(`${paths.length} files, all of a kind that a release has`);

  const app = new Consumer(join(folder, 'app'), file);
  stop(problemsOfSizes({ packed, unpacked, installed: app.installed }));
  const sizes = { packed, unpacked, installed: app.installed };
  for (const [name, bytes] of Object.entries(sizes))
    done(`${name}: ${megabytes(bytes)} of ${megabytes(LIMITS[/** @type {keyof typeof LIMITS} */ (name)])}`);

  const printed = await app.runReadme();
  stop(
    ['Hello, Ada!', 'Hello, Grace!']
      .filter((line) => !printed.includes(line))
      .map((line) => `The README's program did not print ${line}`),
  );
  done("an empty app installs it and runs the README's program");
  app.checkTypes();
  done('publint and arethetypeswrong find nothing');

  if (isReal) {
    console.log(
      run(
        ROOT,
        'npm',
        'publish',
        file,
        '--tag',
        manifest.publishConfig.tag,
        '--access',
        'public',
        '--provenance',
      ),
    );
    done(`published ${manifest.name}@${manifest.version}`);
  } else console.log(`Ready: ${file}`);
}

/** @param {{ version: string }} manifest */
function problemsOfTree({ version }) {
  const problems = [];
  if (run(ROOT, 'git', 'status', '--porcelain') !== '')
    problems.push('There is something that is not committed: git status');
  if (!isReal) return problems;
  if (!run(ROOT, 'git', 'tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`))
    problems.push(`The commit has no tag v${version}`);
  if (process.env.ACTIONS_ID_TOKEN_REQUEST_URL === undefined)
    problems.push(`Not in the workflow that publishes: push the tag v${version}`);
  return problems;
}

/** @param {string[]} problems @throws if there are any */
function stop(problems) {
  if (problems.length > 0) throw new Error(problems.join('\nrelease: '));
}

/** @param {string} what */
function done(what) {
  console.log(`ok  ${what}`);
}
