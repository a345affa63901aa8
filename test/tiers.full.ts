import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TestProcess, type Ended } from './support/test-process.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PASSES = "test('passes', () => undefined);";
const FAILS = "test('fails', () => { throw new Error('no'); });";
const CANNOT_CLEAN_UP = "test('passes', () => undefined); afterAll(() => { throw new Error('left'); });";
const CANNOT_LOAD = "throw new Error('not loaded');";
/** Fails in a process that is its first. */
const failsFirst = (mark: string) => `
const { existsSync, writeFileSync } = require('node:fs');
test('passes at last', () => {
  const isFirst = !existsSync('${mark}');
  writeFileSync('${mark}', '');
  if (isFirst) throw new Error('not yet');
});`;

describe('a run of a tier', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gearmonkey-tiers-'));
    await writeFile(join(folder, 'package.json'), '{}');
    await writeFile(
      join(folder, 'jest.config.json'),
      JSON.stringify({ testMatch: ['**/*.{spec,full}.ts'], transform: {} }),
    );
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  let projects = 0;
  /** @param suites their programs by their names */
  async function run(
    suites: Record<string, string>,
    tier = 'fast',
    ...args: string[]
  ): Promise<Ended & { last: string }> {
    const project = join(folder, `${++projects}-`);
    const files = await Promise.all(
      Object.entries(suites).map(async ([name, program]) => {
        const path = `${project}${name}.ts`;
        await writeFile(path, program);
        return path;
      }),
    );
    const config = `--config=${join(folder, 'jest.config.json')}`;
    const chosen = args.some((arg) => !arg.startsWith('--')) ? [] : ['--testPathPatterns', ...files];
    const program = [join(ROOT, 'scripts/test.mjs'), tier, ...args, config, ...chosen];
    // Its suites are none of the project, whose durations may be measured now.
    const env = { ...process.env, RECORD_DURATIONS: '' };
    const ended = await new TestProcess(process.execPath, program, { env }).ended();
    return { ...ended, last: ended.stdout.trim().split('\n').at(-1) ?? '' };
  }

  it('ends with the counts of passed, failed and skipped tests', async () => {
    const good = await run({ 'a.spec': PASSES });
    expect([good.last, good.code]).toEqual(['1 passed, 0 failed', 0]);
    const skipping = await run({ 'a.spec': `${PASSES} test.skip('later', () => undefined);` });
    expect([skipping.last, skipping.code]).toEqual(['1 passed, 0 failed, 1 skipped', 0]);
    const bad = await run({ 'a.spec': PASSES, 'b.spec': FAILS });
    expect([bad.last, bad.code]).toEqual(['1 passed, 1 failed', 1]);
  });

  it('counts a suite that could not be loaded or cleaned up as failed', async () => {
    const loading = await run({ 'a.spec': PASSES, 'b.spec': CANNOT_LOAD });
    expect([loading.last, loading.code]).toEqual(['1 passed, 1 failed', 1]);
    const cleaning = await run({ 'a.spec': CANNOT_CLEAN_UP });
    expect([cleaning.last, cleaning.code]).toEqual(['1 passed, 1 failed', 1]);
  });

  it('runs the suites whose paths are given, and no others', async () => {
    const { last } = await run({ 'a.spec': PASSES, 'b.spec': FAILS }, 'fast', `${projects + 1}-a`);
    expect(last).toBe('1 passed, 0 failed');
  });

  it('fails without any test, and for an unknown tier', async () => {
    const none = await run({});
    expect([none.last, none.code]).toEqual(['0 passed, 0 failed', 1]);
    await expect(run({}, 'slow')).resolves.toMatchObject({ code: 2 });
  });

  it('leaves suites `*.full.ts` to the full tier', async () => {
    const suites = { 'a.spec': PASSES, 'b.full': PASSES };
    await expect(run(suites)).resolves.toMatchObject({ last: '1 passed, 0 failed' });
    await expect(run(suites, 'full')).resolves.toMatchObject({ last: '2 passed, 0 failed' });
  });

  it('with --retry runs suites that failed once more, and names those that then pass', async () => {
    const suites = { 'a.spec': PASSES, 'b.spec': failsFirst(join(folder, 'b')) };
    const { stdout, last, code } = await run(suites, 'fast', '--retry');
    expect(stdout).toMatch(/^flaky: .*b\.spec\.ts \(passes at last\)$/m);
    expect([last, code]).toEqual(['2 passed, 0 failed', 0]);
  });

  it('without --retry fails for one that fails once', async () => {
    const { last, code } = await run({ 'a.spec': failsFirst(join(folder, 'once')) });
    expect([last, code]).toEqual(['0 passed, 1 failed', 1]);
  });

  it('with --retry fails for a suite that fails again', async () => {
    const suites = { 'a.spec': FAILS, 'b.spec': failsFirst(join(folder, 'again')) };
    const { stdout, last, code } = await run(suites, 'fast', '--retry');
    expect(stdout).toMatch(/^flaky: .*b\.spec\.ts/m);
    expect([last, code]).toEqual(['1 passed, 1 failed', 1]);
  });

  it('with --retry runs nothing once more if more than two suites failed', async () => {
    const marks = ['x', 'y', 'z'].map((name) => [`${name}.spec`, failsFirst(join(folder, name))] as const);
    const { stdout, last, code } = await run(Object.fromEntries(marks), 'fast', '--retry');
    expect(stdout).not.toContain('flaky:');
    expect([last, code]).toEqual(['0 passed, 3 failed', 1]);
  });
});
