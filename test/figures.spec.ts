import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TestProcess } from './support/test-process.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** How a page names the commit that its figures were measured on. */
const MEASURED_ON = /measured on commit `([0-9a-f]{8,40})`/i;

/** Runs git in a folder; undefined if it fails. */
async function git(cwd: string, ...args: string[]): Promise<string | undefined> {
  const names = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@example.org' };
  const env = { ...process.env, ...names, GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@example.org' };
  const { code, stdout } = await new TestProcess('git', args, { cwd, env }).ended();
  return code === 0 ? stdout.trim() : undefined;
}

/** Why the figures of a commit may not stand in a tree any more; undefined if they may. */
async function whyOutdated(root: string, commit: string): Promise<string | undefined> {
  const release = await git(root, 'describe', '--tags', '--abbrev=0', '--match', 'v*');
  if ((await git(root, 'cat-file', '-e', `${commit}^{commit}`)) === undefined) {
    const isShallow = (await git(root, 'rev-parse', '--is-shallow-repository')) === 'true';
    return isShallow && release === undefined ? undefined : `There is no commit ${commit}.`;
  }
  if ((await git(root, 'merge-base', '--is-ancestor', commit, 'HEAD')) === undefined)
    return `The commit ${commit} is not in the history of this tree.`;
  if (release === undefined) return undefined;
  const isOlder = (await git(root, 'merge-base', '--is-ancestor', release, commit)) === undefined;
  return isOlder
    ? `The commit ${commit} is older than the last release, ${release}. Measure again.`
    : undefined;
}

describe('figures', () => {
  it.each(['docs/understand/performance.md'])('of %s are no older than the last release', async (path) => {
    const [, commit = ''] = MEASURED_ON.exec(await readFile(join(ROOT, path), 'utf8')) ?? [];
    expect(commit).not.toBe('');
    if ((await git(ROOT, 'rev-parse', '--git-dir')) === undefined) return;
    await expect(whyOutdated(ROOT, commit)).resolves.toBeUndefined();
  });
});

describe('whyOutdated', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gearmonkey-figures-'));
    await git(folder, 'init', '-q');
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function commit(): Promise<string> {
    await git(folder, 'commit', '-q', '--allow-empty', '-m', 'a change');
    return (await git(folder, 'rev-parse', 'HEAD')) ?? '';
  }

  it('lets figures stand that were measured on the last release, or later', async () => {
    const first = await commit();
    await expect(whyOutdated(folder, first)).resolves.toBeUndefined();
    await git(folder, 'tag', 'v1.0.0');
    await expect(whyOutdated(folder, first)).resolves.toBeUndefined();
    const later = await commit();
    await expect(whyOutdated(folder, later)).resolves.toBeUndefined();
  });

  it('names figures that are older than the last release, and of commits that are not there', async () => {
    const old = await commit();
    await commit();
    await git(folder, 'tag', 'v1.0.0');
    await commit();
    await expect(whyOutdated(folder, old)).resolves.toContain('older than the last release, v1.0.0');
    await expect(whyOutdated(folder, '0123456789abcdef')).resolves.toContain('There is no commit');
  });
});
