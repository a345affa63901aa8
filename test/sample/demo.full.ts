import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkAll } from '../../sample/demo/check.js';
import type { Digest } from '../../sample/demo/digest.job.js';
import type { Finished } from '../../sample/demo/run-jobs.js';
import { useRedis } from '../support/use-redis.js';
import { SampleProcess, stopSamples } from './sample-process.js';

const SMALL_FILES = 40;

describe('npm run demo', () => {
  const redis = useRedis();
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gearmonkey-demo-'));
    await mkdir(join(folder, 'deep', 'deeper'), { recursive: true });
    for (let number = 0; number < SMALL_FILES; number++) {
      await writeFile(join(folder, 'deep', `${number}.txt`), `line\n`.repeat(number));
    }
    await writeFile(join(folder, 'large.bin'), Buffer.alloc(3_000_000, 'large\n'));
    await writeFile(join(folder, 'deep', 'deeper', 'ünicode "name"\n.txt'), 'one\ntwo\n');
    await symlink(folder, join(folder, 'deep', 'round-and-round'));
    await symlink('/nowhere', join(folder, 'dangling'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  afterEach(stopSamples);

  it('digests every file of a folder without a server, and prints plain lines', async () => {
    const demo = new SampleProcess(['demo', folder]);
    await expect(demo.result()).resolves.toMatchObject({ code: 0, errors: '' });
    expect(demo.output).toContain('embedded: no server, one process');
    expect(demo.output).toContain('42 of 42 files agree with a direct computation');
    expect(demo.output).toContain('npm run demo -- --dashboard');
    expect(demo.output).toMatch(/Largest .*\n {2}large\.bin +3\.00 MB +500,000 /);
    expect(demo.output).not.toContain('\u001B');
  });

  it('digests them in several processes over Redis, which sign off at the end', async () => {
    const demo = new SampleProcess(['demo', folder], { REDIS_URL: redis.url });
    await expect(demo.result()).resolves.toMatchObject({ code: 0, errors: '' });
    expect(demo.output).toMatch(/[2-4] worker processes on Redis/);
    expect(demo.output).toContain('42 of 42 files agree with a direct computation');
    await expect(redis.redis.get('count:demo-digest')).resolves.toBe('0');
    await expect(redis.redis.get('uid:demo-digest')).resolves.toBe('42');
    await expect(redis.redis.client('LIST')).resolves.not.toContain('nestjs-gearmonkey');
  });

  it('takes the given number of files', async () => {
    const demo = new SampleProcess(['demo', '--files', '7', folder]);
    await expect(demo.result()).resolves.toMatchObject({ code: 0, errors: '' });
    expect(demo.output).toContain('7 of 42 files');
    expect(demo.output).toContain('7 of 7 files agree');
  });

  it('shows the jobs in a browser on request, until it is asked to end', async () => {
    const demo = new SampleProcess(['demo', '--dashboard', folder]);
    const url = await demo.says(/The jobs are at (http:\S+)/);
    const opened = await fetch(url, { redirect: 'manual' });
    const headers = { cookie: opened.headers.getSetCookie()[0]?.split(';')[0] ?? '' };
    const at = (path: string) => fetch(new URL(path, url), { headers });
    await expect((await at('.')).text()).resolves.toContain('<div id="app">');
    const overview = (await (await at('api/overview')).json()) as unknown;
    expect(overview).toEqual([expect.objectContaining({ fn: 'demo-digest', succeeded: 42 })]);
    // Browsers open connections that they may not use.
    const unused = connect(Number(new URL(url).port), '127.0.0.1');
    await once(unused, 'connect');
    await demo.stop();
    await expect(demo.result()).resolves.toMatchObject({ code: 0, errors: '' });
    unused.destroy();
  });

  it('exits with 2 if there is nothing to do', async () => {
    const empty = await mkdtemp(join(folder, 'empty-'));
    const demos = [
      [[join(folder, 'missing')], /Expected a folder, but .*missing can't be opened: ENOENT/],
      [[join(folder, 'large.bin')], /Expected a folder, but .*large\.bin is none/],
      [[empty], /There is no file in .*empty-/],
      [['--files', '0'], /Expected --files to be a whole number from 1/],
      [['--frobnicate'], /frobnicate/],
    ] as const;
    await Promise.all(
      demos.map(async ([args, message]) => {
        const demo = new SampleProcess(['demo', ...args]);
        await expect(demo.result()).resolves.toMatchObject({
          code: 2,
          errors: expect.stringMatching(message),
        });
      }),
    );
  });

  it('exits with 1 if Redis cannot be reached', async () => {
    const demo = new SampleProcess(['demo', folder], { REDIS_URL: 'redis://127.0.0.1:1' });
    await expect(demo.result()).resolves.toMatchObject({
      code: 1,
      errors: expect.stringContaining('ECONNREFUSED'),
    });
  });
});

describe('the check of the demo', () => {
  const gone: Finished['outcome'] = Object.assign(new Error('gone'), {
    error: { name: 'Error', message: 'ENOENT' },
  }) as Finished['outcome'];
  const wrong: Digest = { sha256: '00', bytes: 1, lines: 0, gzipRatio: 1, ms: 1, pid: 1 };
  const here = new URL(import.meta.url).pathname;

  async function verdict(path: string, outcome: Finished['outcome'], since = new Date()): Promise<unknown> {
    return [...(await checkAll([{ id: '1', path, outcome }], since)).values()][0];
  }

  it('detects a wrong digest, and a job that failed without a reason', async () => {
    await expect(verdict(here, wrong)).resolves.toBe('differs');
    await expect(verdict(here, gone)).resolves.toBe('differs');
  });

  it('accepts a file that was removed or changed since', async () => {
    await expect(verdict('/nowhere', gone)).resolves.toBe('unreadable');
    await expect(verdict('/nowhere', wrong)).resolves.toBe('changed');
    await expect(verdict(here, wrong, new Date(0))).resolves.toBe('changed');
  });
});
