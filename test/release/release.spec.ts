import { describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, parseDocument } from 'yaml';
import { documents } from '../support/documents.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');

interface Manifest {
  name: string;
  version: string;
  homepage: string;
  bugs: string;
  repository: { type: string; url: string };
  publishConfig: { access: string; provenance: boolean; tag: string };
  scripts: Record<string, string>;
  engines: { node: string };
  peerDependencies: Record<string, string>;
}

/** Scripts without types. */
const { LIMITS, PLACEHOLDER_OWNER, problemsOfContents, problemsOfSizes, problemsOfVersion } = (await import(
  new URL('../../scripts/release/rules.mjs', import.meta.url).href
)) as {
  LIMITS: Record<'packed' | 'unpacked' | 'installed', number>;
  PLACEHOLDER_OWNER: string;
  problemsOfContents: (paths: string[], manifest: Manifest) => string[];
  problemsOfSizes: (sizes: Record<string, number>) => string[];
  problemsOfVersion: (manifest: Manifest, changelog: string, how: { isReal: boolean }) => string[];
};
const manifest = JSON.parse(textOf('package.json')) as Manifest;
const changelog = textOf('CHANGELOG.md');

describe('a release', () => {
  it('can be rehearsed with what is in the tree', () => {
    expect(problemsOfVersion(manifest, changelog, { isReal: false })).toEqual([]);
  });

  it('needs a date and an owner to be published', () => {
    const undated = `# Changelog\n\n## ${manifest.version}, unreleased\n`;
    const named = (owner: string): Manifest =>
      JSON.parse(JSON.stringify(manifest).replaceAll(/(?<=github\.com\/)[\w-]+(?=\/)/g, owner)) as Manifest;
    const problems = problemsOfVersion(named(PLACEHOLDER_OWNER), undated, { isReal: true });
    expect(problems).toEqual([
      expect.stringContaining('CHANGELOG.md has no date'),
      expect.stringContaining('names no owner'),
    ]);
    const dated = undated.replace(', unreleased', ' - 2026-01-31');
    expect(problemsOfVersion(named('acme'), dated, { isReal: true })).toEqual([]);
  });

  it.each([
    ['a version without a section in the changelog', { version: '9.9.9-rc.1' }, /CHANGELOG\.md begins with/],
    [
      'a candidate that would become `latest`',
      { publishConfig: { ...manifest.publishConfig, tag: 'latest' } },
      /tag is latest/,
    ],
    [
      'a package without provenance',
      { publishConfig: { ...manifest.publishConfig, provenance: false } },
      /provenance/,
    ],
    ['issues of another repository', { bugs: 'https://github.com/other/project/issues' }, /are not those of/],
  ])('refuses %s', (_, change, problem) => {
    expect(problemsOfVersion({ ...manifest, ...change }, changelog, { isReal: false })).toContainEqual(
      expect.stringMatching(problem),
    );
  });

  it.each([
    ['docs/notes/faults.md', 'notes'],
    ['docs/img/job.png', 'a picture'],
    ['docs/figures/bench.svg', 'a picture'],
    ['dist/job/job.spec.js', 'a test'],
    ['test/support/until.js', 'a test'],
    ['dist/job/job.ts', 'a source'],
    ['dist/index.js.map', 'a source'],
    ['.env', 'of no kind'],
    ['lib/gearmonkey/core/wire/scripts/claim.lua', 'of no kind'],
  ])('refuses %s, which is %s', (path, kind) => {
    expect(problemsOfContents([path], manifest)).toContainEqual(
      expect.stringContaining(`${path} is ${kind}`),
    );
  });

  it('refuses a tarball without a file that package.json names', () => {
    expect(problemsOfContents([], manifest)).toEqual(
      expect.arrayContaining(['dist/index.d.ts is missing', 'dist/cli/gearmonkey.js is missing']),
    );
  });

  it('refuses one that is larger than its limits', () => {
    expect(problemsOfSizes({ ...LIMITS })).toEqual([]);
    expect(problemsOfSizes({ ...LIMITS, packed: LIMITS.packed + 1 })).toEqual([
      expect.stringContaining('packed'),
    ]);
  });
});

describe('the owner of the repository', () => {
  it('is named in package.json alone', () => {
    const others = [...documents, ...hidden().map((path) => ({ path, text: textOf(path) }))];
    const [, owner = ''] = /github\.com\/([\w-]+)\//.exec(manifest.repository.url) ?? [];
    const naming = others.filter(({ text }) => text.includes(`github.com/${owner}/`));
    expect(naming.map(({ path }) => path)).toEqual([]);
  });
});

describe('the files for contributors on GitHub', () => {
  it.each(hidden().filter((path) => path.endsWith('.yml')))('%s is YAML, with every key once', (path) => {
    const { errors, warnings } = parseDocument(textOf(path));
    expect([...errors, ...warnings]).toEqual([]);
  });

  it('ask for a program and versions before a defect is reported', () => {
    const form = parse(textOf('.github/ISSUE_TEMPLATE/bug.yml')) as {
      body: { id?: string; validations?: { required: boolean } }[];
    };
    const required = form.body.filter(({ validations }) => validations?.required).map(({ id }) => id);
    expect(required).toEqual(expect.arrayContaining(['happens', 'program', 'versions']));
  });

  it('are there: how to report a vulnerability, how to behave, what a pull request has', () => {
    for (const path of ['SECURITY.md', 'CODE_OF_CONDUCT.md', '.github/PULL_REQUEST_TEMPLATE.md'])
      expect(existsSync(join(ROOT, path))).toBe(true);
    expect(textOf('SECURITY.md')).toContain(`| ${manifest.version.split('.')[0]}.x `);
  });
});

interface Job {
  strategy?: { matrix: Record<string, unknown[]> };
  steps: { run?: string }[];
}

describe('the workflow of GitHub', () => {
  const { jobs } = parse(textOf('.github/workflows/ci.yml')) as { jobs: Record<string, Job> };
  const matrix = (job: string, name: string) => jobs[job]?.strategy?.matrix[name] ?? [];
  const commands = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
  const claimed = (what: string) =>
    (
      new RegExp(`^\\| ${what} +\\| ([\\d., ]+?) *\\|`, 'm').exec(textOf('docs/versions.md'))?.[1] ?? ''
    ).split(', ');
  const major = (version: string) => version.split('.')[0];

  it('runs both tiers on each version of Node that package.json and the documents name', () => {
    const nodes = matrix('node', 'node').map(String);
    expect(nodes).toEqual(claimed('Node').map(major));
    expect(manifest.engines.node).toBe(`>=${claimed('Node')[0]}.0`);
    expect(textOf('test/environments/environments.check.ts')).toContain(
      `const NODES = [${nodes.map((node) => `'${node}'`).join(', ')}];`,
    );
    expect(matrix('node', 'tier')).toEqual(['test', 'test:full']);
  });

  it('runs both tiers on each server that the documents name', () => {
    const servers = matrix('server', 'server') as { name: string; version: string; program: string }[];
    const tested = (name: string) =>
      servers.filter((server) => server.name === name).map(({ version }) => version);
    expect(tested('Redis').map((version) => version.replace(/^(6\.\d+|\d+).*/, '$1'))).toEqual(
      claimed('Redis'),
    );
    expect(tested('Valkey').map(major)).toEqual(claimed('Valkey'));
    expect(matrix('server', 'tier')).toEqual(['test', 'test:full']);
  });

  it('tries the package with each version of Nest that package.json allows', () => {
    const allowed = manifest.peerDependencies['@nestjs/core'] ?? '';
    expect(matrix('nest', 'nest').map((version) => `^${String(version)}.0.0`)).toEqual(allowed.split(' || '));
    expect(claimed('NestJS')).toEqual(matrix('nest', 'nest').map(String));
    expect(commands.filter((command) => command.includes('matrix.nest'))).toHaveLength(2);
  });

  it('calls commands of npm that there are', () => {
    const called = commands.flatMap((command) => [...command.matchAll(/npm run ([\w:]+)/g)]);
    const names = called.map(([, name]) => name);
    expect(names).toEqual(expect.arrayContaining(['lint', 'check', 'release']));
    expect(names.filter((name) => !Object.hasOwn(manifest.scripts, name ?? ''))).toEqual([]);
  });
});

/** Templates and workflows. */
function hidden(): string[] {
  return readdirSync(join(ROOT, '.github'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length));
}
