import { beforeEach, describe, expect, it } from '@jest/globals';
import { mkdir } from 'node:fs/promises';
import { performance } from 'node:perf_hooks';
import { GearMonkeyClient, GearMonkeyWorkers, type FlowNode } from 'nestjs-gearmonkey';
import { gate } from '../support/gate.js';
import { eventually, until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { useBrowser } from './browser.js';
import { enqueueSome, pageApp, resize } from './page-app.js';

const JOBS = 100_000;
const BACKLOG = 1_000_000;
const FUNCTIONS = 200;
const TABS = 20;
/** Where pictures of each view go, if anywhere. */
const PICTURES = process.env['PICTURES'];

/** Jobs of a function that wait, as a plain client writes them. */
const WAITING = `
for id = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  redis.call('HSET', 'job:' .. KEYS[1] .. ':' .. id, 'status', 'idle', 'input', '1', 'created', ARGV[3])
  redis.call('LPUSH', 'queue:' .. KEYS[1] .. ':normal', id)
end
redis.call('SET', 'uid:' .. KEYS[1], ARGV[2])
redis.call('ZADD', 'functions', ARGV[3], KEYS[1])`;
/** Jobs of a function that have succeeded, one each millisecond. */
const ENDED = `
for id = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  local at = string.format('%.0f', tonumber(ARGV[3]) + id)
  redis.call('HSET', 'job:' .. KEYS[1] .. ':' .. id, 'status', 'success', 'input', '1', 'created', at, 'finished', at)
  redis.call('ZADD', 'ended:' .. KEYS[1] .. ':success', at, id)
end
redis.call('SET', 'uid:' .. KEYS[1], ARGV[2])`;
const STEP = 10_000;

describe('the page, for long', () => {
  const redis = useRedis();
  const browser = useBrowser();
  const apps = useServedApps();
  beforeEach(() => redis.redis.flushall());

  async function fill(fn: string, jobs: number, script = WAITING, at = Date.now()): Promise<void> {
    for (let from = 1; from <= jobs; from += STEP)
      await redis.redis.eval(script, 1, fn, from, Math.min(jobs, from + STEP - 1), at);
  }

  async function calls(): Promise<number> {
    const text = await redis.redis.info('commandstats');
    const of = (name: string) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(text)?.[1] ?? 0);
    return of('evalsha') + of('zrevrange') + of('hgetall');
  }

  it('scrolls through 100,000 jobs', async () => {
    await fill('many', JOBS, ENDED, Date.now() - JOBS);
    const { base } = await apps.serve('express', pageApp(redis.url).module);
    const { page, misdeeds } = await browser.open(`${base}/#/jobs?fn=many&state=succeeded`);
    await page.getByRole('link', { name: `${JOBS}`, exact: true }).waitFor();
    const script = `new Promise((resolve) => {
      const box = document.querySelector('.virtual');
      const frames = [];
      let last = performance.now();
      const end = last + 240_000;
      const step = (now) => {
        frames.push(now - last);
        last = now;
        box.scrollTop += 4000;
        const [, seen = '0'] = /^([\\d,]+) of/.exec(document.querySelector('main p.dim').textContent) ?? [];
        const read = Number(seen.replaceAll(',', ''));
        if (read >= ${JOBS} || now > end) resolve({ frames, read });
        else requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    })`;
    const { frames, read } = (await page.evaluate(script)) as { frames: number[]; read: number };
    const sorted = frames.toSorted((a, b) => a - b);
    const at = (part: number) => Math.round(sorted[Math.floor(part * (sorted.length - 1))] ?? 0);
    console.log(
      `${read} jobs, ${frames.length} frames: median ${at(0.5)} ms, 99 of 100 within ${at(0.99)} ms, at most ${at(1)} ms`,
    );
    expect(read).toBe(JOBS);
    expect(at(0.99)).toBeLessThan(100);
    expect(await page.locator('.virtual tbody tr').count()).toBeLessThan(100);
    expect(misdeeds.errors).toEqual([]);
  });

  it('asks little of Redis with 20 tabs, 200 functions and 1,000,000 waiting jobs, and nothing without a tab', async () => {
    await fill('backlog', BACKLOG);
    for (let n = 1; n < FUNCTIONS; n++) await fill(`fn${n}`, 1);
    const { app, base } = await apps.serve('express', pageApp(redis.url).module);
    await app.get(GearMonkeyClient).pause('backlog');
    const pages = [];
    for (let n = 0; n < TABS; n++) pages.push((await browser.open(`${base}/`)).page);
    for (const page of pages) await page.getByRole('link', { name: 'backlog' }).waitFor();
    const [begun, first] = [performance.now(), await calls()];
    await until(() => performance.now() - begun > 20_000, { interval: 500, timeout: 60_000 });
    const busy = ((await calls()) - first) / ((performance.now() - begun) / 1000);
    for (const page of pages) await page.close();
    const idleFrom = performance.now();
    await until(() => performance.now() - idleFrom > 10_000, { interval: 500, timeout: 60_000 });
    const [since, before] = [performance.now(), await calls()];
    await until(() => performance.now() - since > 10_000, { interval: 500, timeout: 60_000 });
    const idle = ((await calls()) - before) / ((performance.now() - since) / 1000);
    console.log(
      `calls a second: ${busy.toFixed(1)} with ${TABS} tabs, ${idle.toFixed(1)} without (its own workers)`,
    );
    expect(busy - idle).toBeLessThan(55);
  });

  it('has a picture of each view', async () => {
    const { app, base } = await apps.serve('express', pageApp(redis.url).module);
    const client = app.get(GearMonkeyClient);
    await enqueueSome(client);
    await client.pause('unserved');
    const go = gate();
    const film = await encodeFilm(client, app.get(GearMonkeyWorkers), go.passed);
    await eventually(async () => expect((await client.list(resize, { state: 'failed' })).total).toBe(3));
    // Statistics are written every five seconds.
    await until(async () => (await client.statistics(resize, { by: 'hour' })).some(({ done }) => done > 0));
    const views = {
      overview: '',
      function: 'fn?fn=resize',
      jobs: 'jobs?fn=resize&state=succeeded',
      job: 'job?fn=resize&id=13',
      flow: `job?fn=publish&id=${film}`,
    };
    if (PICTURES !== undefined) await mkdir(PICTURES, { recursive: true });
    for (const [name, hash] of Object.entries(views))
      for (const [colorScheme, width] of [
        ['light', 1280],
        ['dark', 390],
      ] as const) {
        const viewport = { width, height: width > 500 ? 820 : 844 };
        const { page } = await browser.open(`${base}/#/${hash}`, { colorScheme, viewport });
        await page.getByRole('heading', { level: 1 }).first().waitFor();
        await eventually(async () => expect(await page.locator('.loading').count()).toBe(0));
        if (name === 'overview' || name === 'function') await page.locator('.tiles').waitFor();
        if (name === 'overview' || name === 'function') await page.locator('.chart canvas').first().waitFor();
        if (name === 'flow') {
          await page.getByRole('heading', { name: 'Flow' }).click();
          await page.getByRole('link', { name: 'split 1: success' }).scrollIntoViewIfNeeded();
        }
        const picture = await page.screenshot();
        expect(picture.length).toBeGreaterThan(10_000);
        const file = colorScheme === 'light' ? `${name}.png` : `${name}-phone.png`;
        if (PICTURES !== undefined) await page.screenshot({ path: `${PICTURES}/${file}` });
      }
    go.open();
  });
});

/** A flow in which jobs of each state can be seen. Returns the id of its last job. */
async function encodeFilm(
  client: GearMonkeyClient,
  workers: GearMonkeyWorkers,
  goOn: Promise<void>,
): Promise<string | undefined> {
  const node = (job: string, ...children: FlowNode[]): FlowNode => ({ job, input: null, children });
  const publish = node('publish');
  const join = node('join', publish);
  const parts = Array.from({ length: 24 }, () => node('encode', join));
  const wrong = node('subtitle');
  const flow = await client.flow(node('split', ...parts, wrong, node('preview', publish)));
  await workers.add('split', () => 24);
  await workers.add('encode', (_, { id }) => (Number(id) <= 10 ? 1 : goOn), { concurrency: 2 });
  await workers.add('subtitle', () => Promise.reject(new Error('No such language')), {
    retry: { attempts: 1 },
  });
  const states = async () => (await Promise.all(flow.jobs.map((job) => job.get()))).map((job) => job?.state);
  await eventually(async () => {
    const all = await states();
    const count = (state: string) => all.filter((one) => one === state).length;
    expect([count('succeeded'), count('running'), count('failed')]).toEqual([11, 2, 1]);
  });
  return flow.jobOf(publish)?.id;
}
