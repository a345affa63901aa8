import { beforeEach, describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { GearMonkeyClient, GearMonkeyWorkers, defineJob, type FlowNode } from 'nestjs-gearmonkey';
import { gate } from '../support/gate.js';
import { eventually, until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { problemsOf, useBrowser } from './browser.js';
import { useServedApps } from './dashboard-app.js';
import { pageApp } from './page-app.js';

const TEST_MS = 240_000;
const HOSTILE = '<img/src=x/onerror=alert(1)>';

const node = (job: string, ...children: FlowNode[]): FlowNode => ({ job, input: null, children });

describe('the page of a job of a flow', () => {
  const redis = useRedis();
  const browser = useBrowser();
  const apps = useServedApps();
  beforeEach(() => redis.redis.flushall());

  async function serve() {
    const { app, base } = await apps.serve('express', pageApp(redis.url).module);
    const show = (fn: string, id = '', options: Parameters<typeof browser.open>[1] = {}) =>
      browser.open(`${base}/#/job?fn=${encodeURIComponent(fn)}&id=${id}`, options);
    return { client: app.get(GearMonkeyClient), workers: app.get(GearMonkeyWorkers), show };
  }

  it(
    'draws the flow once it is opened, and leads to its other jobs',
    async () => {
      const { client, workers, show } = await serve();
      const go = gate();
      await workers.add('split', () => 1);
      await workers.add('encode', () => go.passed, { concurrency: 2 });
      await workers.add('join', () => 1);
      const end = node('join');
      const parts = [node('encode', end), node('encode', end)];
      const flow = await client.flow(node('split', ...parts));
      await eventually(async () => {
        const jobs = await Promise.all(parts.map((part) => flow.jobOf(part)?.get()));
        expect(jobs.map((job) => job?.state)).toEqual(['running', 'running']);
      });
      const { page, misdeeds } = await show('join', flow.jobOf(end)?.id);
      const asked: string[] = [];
      page.on('request', (request) => asked.push(new URL(request.url()).pathname));
      await page.getByText('2 jobs', { exact: true }).waitFor();
      await page.getByRole('heading', { name: 'Timeline' }).waitFor();
      expect(asked.filter((path) => /flow/.test(path))).toEqual([]);

      await page.getByRole('heading', { name: 'Flow' }).click();
      const drawing = page.getByRole('region', { name: 'Jobs of the flow' });
      const links = () => drawing.getByRole('link').evaluateAll((all) => all.map((one) => one.textContent));
      await drawing.getByRole('link', { name: 'join 1: scheduled' }).waitFor();
      expect(asked.filter((path) => /flow/.test(path))).toHaveLength(2);
      for (const name of ['split 1: succeeded', 'encode 1: running', 'encode 2: running'])
        await drawing.getByRole('link', { name }).waitFor();
      expect(await links()).toHaveLength(4);
      expect(await drawing.locator('[aria-current]').getAttribute('href')).toContain('fn=join');
      const heads = await drawing
        .locator('path.head')
        .evaluateAll((all) => all.map((one) => one.getAttribute('d')));
      expect(heads.join('').split('M')).toHaveLength(1 + 4);
      await page.getByText('1 of 4 jobs ended').waitFor();

      // The job that is shown changes: so does the drawing.
      go.open();
      await drawing.getByRole('link', { name: 'join 1: succeeded' }).waitFor();
      await page.getByText('4 of 4 jobs ended').waitFor();
      await drawing.getByRole('link', { name: 'encode 2: succeeded' }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'encode 2' }).waitFor();
      await drawing.locator('[aria-current][href*="fn=encode&id=2"]').waitFor();
      expect(misdeeds).toEqual({ errors: [], foreign: [] });
    },
    TEST_MS,
  );

  it(
    'draws many jobs of a function as one group, which opens as a list, and reads more when asked',
    async () => {
      const { client, workers, show } = await serve();
      await workers.add('split', () => 1);
      await workers.add('encode', () => {
        throw new Error('as told');
      });
      await client.pause('encode');
      const flow = await client.flow(node('split', ...Array.from({ length: 400 }, () => node('encode'))));
      await flow.root.result();
      await client.cancel('encode', '7');
      const { page, misdeeds } = await show('split', flow.root.id);
      await page.getByRole('heading', { name: 'Flow' }).click();
      await page.getByText('300 of 401 jobs shown').waitFor();
      const group = page.getByRole('button', { name: '299 jobs of encode: 1 cancelled, 298 waiting' });
      await group.focus();
      await page.keyboard.press('Enter');
      const list = page.getByRole('region', { name: 'Jobs of encode' });
      await list.getByRole('link', { name: '299', exact: true }).waitFor();
      expect(await list.getByRole('link').count()).toBe(299);
      expect(await list.getByRole('listitem').first().innerText()).toBe('7 cancelled');
      await page.getByRole('button', { name: 'Show more' }).click();
      await page.getByRole('button', { name: '400 jobs of encode: 1 cancelled, 399 waiting' }).waitFor();
      expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
      await list.getByRole('link', { name: '7', exact: true }).click();
      await page.getByRole('heading', { level: 1, name: 'encode 7' }).waitFor();
      expect(misdeeds).toEqual({ errors: [], foreign: [] });
    },
    TEST_MS,
  );

  it(
    'tells jobs that are no longer kept from failed ones, and gives the focus back',
    async () => {
      const { client, workers, show } = await serve();
      await workers.add('split', () => 1);
      await workers.add(defineJob('encode', { keep: { success: { count: 1 } } }), () => 1, {
        concurrency: 5,
      });
      const flow = await client.flow(node('split', ...Array.from({ length: 20 }, () => node('encode'))));
      await lastValueFrom(flow.progress$);
      // A few seconds behind their ends.
      await until(async () => (await redis.redis.keys('job:encode:*')).length < 10);
      const { page, misdeeds } = await show('split', flow.root.id);
      await page.getByRole('heading', { name: 'Flow' }).click();
      await page.getByText('21 of 21 jobs ended').waitFor();
      expect(await page.getByText('without success').count()).toBe(0);
      const drawing = page.getByRole('region', { name: 'Jobs of the flow' });
      const group = drawing.getByRole('button', { name: /^20 jobs of encode: \d+ succeeded, \d+ gone$/ });
      expect((await group.boundingBox())?.x).toBeGreaterThan(
        (await drawing.locator('[aria-current]').boundingBox())?.x ?? Infinity,
      );
      await group.click();
      const list = page.getByRole('region', { name: 'Jobs of encode' });
      await list.press('Escape');
      await list.waitFor({ state: 'detached' });
      expect(await page.evaluate('document.activeElement.textContent')).toContain('20 × encode');
      expect(misdeeds).toEqual({ errors: [], foreign: [] });
    },
    TEST_MS,
  );

  it(
    'draws the lines of the job that is shown, however many there are, and none to the left',
    async () => {
      const { client, show } = await serve();
      const names = (of: string, count: number) =>
        Array.from({ length: count }, (_, index) => `${of}${index}`);
      const ends = names('end', 60).map((name) => node(name));
      const parts = names('part', 60).map((name) => node(name, ...ends));
      const end = ends.at(-1) as FlowNode;
      const late = node('early', node('middle', node('late', end)));
      const flow = await client.flow(node('split', ...parts, late));
      const { page, misdeeds } = await show('end59', flow.jobOf(end)?.id);
      await page.getByRole('heading', { name: 'Flow' }).click();
      const drawing = page.getByRole('region', { name: 'Jobs of the flow' });
      await page.getByText('Not all lines are drawn.').waitFor();
      const heads = await drawing.locator('path.head.is-own').getAttribute('d');
      expect(heads?.split('M')).toHaveLength(1 + 61);
      const leftOf = async (name: string) =>
        (await drawing.getByRole('link', { name }).boundingBox())?.x ?? NaN;
      expect(await leftOf('end59 1: scheduled')).toBeGreaterThan(await leftOf('late 1: scheduled'));
      expect(misdeeds).toEqual({ errors: [], foreign: [] });
    },
    TEST_MS,
  );

  it(
    'shows hostile names as text',
    async () => {
      const { client, show } = await serve();
      const end = node(HOSTILE);
      const many = Array.from({ length: 14 }, () => node(HOSTILE, end));
      const flow = await client.flow(node("javascript:alert('x')", ...many));
      const { page, misdeeds } = await show(HOSTILE, flow.jobOf(end)?.id);
      await page.getByRole('heading', { name: 'Flow' }).click();
      const drawing = page.getByRole('region', { name: 'Jobs of the flow' });
      await drawing.getByRole('button', { name: `14 jobs of ${HOSTILE}: 14 scheduled` }).click();
      await page.getByText(`14 × ${HOSTILE}`).waitFor();
      const hrefs = await page
        .locator('main svg a')
        .evaluateAll((all) => all.map((one) => one.getAttribute('href')));
      expect(hrefs.map((href) => href?.slice(0, 6))).toEqual(['#/job?', '#/job?']);
      expect(await page.locator('main img, main script, main [onclick], main [onerror]').count()).toBe(0);
      await drawing.getByRole('link', { name: "javascript:alert('x') 1: waiting" }).click();
      await page.getByRole('heading', { level: 1, name: "javascript:alert('x') 1" }).waitFor();
      expect(misdeeds).toEqual({ errors: [], foreign: [] });
    },
    TEST_MS,
  );

  it.each([
    ['light', 1280],
    ['dark', 390],
    ['light', 390],
    ['dark', 1280],
  ] as const)(
    'can be read by everyone, in %s colours and %d pixels wide',
    async (colorScheme, width) => {
      const { client, workers, show } = await serve();
      await workers.add('split', () => 1);
      await workers.add(
        'encode',
        () => {
          throw new Error('as told');
        },
        { retry: { attempts: 1 } },
      );
      const end = node('join');
      const many = Array.from({ length: 20 }, () => node('cut', end));
      const flow = await client.flow(node('split', node('encode', end), node('publish'), ...many));
      await eventually(async () => expect((await flow.jobOf(end)?.get())?.state).toBe('failed'));
      const viewport = { width, height: 800 };
      const { page, misdeeds } = await show('split', flow.root.id, {
        colorScheme,
        viewport,
        bypassCSP: true,
      });
      await page.getByRole('heading', { name: 'Flow' }).click();
      await page.getByRole('button', { name: '20 jobs of cut: 20 waiting' }).click();
      await page.getByRole('region', { name: 'Jobs of cut' }).waitFor();
      for (const name of ['encode 1: failed', 'join 1: failed', 'publish 1: waiting'])
        await page.getByRole('link', { name }).waitFor();
      expect(await problemsOf(page)).toEqual([]);
      const beyond = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
      expect(await page.evaluate(beyond)).toBe(0);
      expect(misdeeds).toEqual({ errors: [], foreign: [] });
    },
    TEST_MS,
  );
});
