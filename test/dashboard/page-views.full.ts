import { beforeEach, describe, expect, it } from '@jest/globals';
import { defineLimit, GearMonkeyClient, GearMonkeyWorkers } from 'nestjs-gearmonkey';
import type { FailuresView } from '../../lib/dashboard/api.js';
import { gate, type Gate } from '../support/gate.js';
import { eventually, until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { useBrowser } from './browser.js';
import { json } from './http.js';
import { mail, pageApp, resize } from './page-app.js';

const TEST_MS = 240_000;
const FUNCTIONS = 217;
/** As the style sheet has it. */
const RUNNING = [0x6b, 0x3f, 0xa0];

describe('the views of the page', () => {
  const redis = useRedis();
  const browser = useBrowser();
  const apps = useServedApps();
  beforeEach(() => redis.redis.flushall());

  /** An app that answers requests to these paths once their gates are open. */
  async function serve(
    held: Readonly<Record<string, Gate>> = {},
    options: Parameters<typeof pageApp>[1] = {},
  ) {
    const { module, gates } = pageApp(redis.url, options);
    const { app, base } = await apps.serve('express', module, (own) => {
      own.use(({ path = '' }: { path?: string }, _response: unknown, next: () => void) => {
        const found = Object.entries(held).find(([end]) => path.endsWith(end));
        if (found) void found[1].passed.then(() => next());
        else next();
      });
    });
    return { app, base, gates, client: app.get(GearMonkeyClient) };
  }

  it(
    'show hundreds of functions and a job before the stream tells of them',
    async () => {
      const live = gate();
      const { base, client } = await serve({ '/api/live': live });
      const [{ id }] = await Promise.all([
        client.run(mail, { to: 'x' }),
        ...Array.from({ length: FUNCTIONS }, (_, n) => client.run(`tenant${n}`, null)),
      ]);
      const { page, misdeeds } = await browser.open(`${base}/`);
      await page.getByRole('link', { name: 'tenant216' }).waitFor();
      await page.goto(`${base}/#/fn?fn=tenant216`);
      await page.locator('.tiles').waitFor();
      await page.goto(`${base}/#/job?fn=mail&id=${id}`);
      await page.getByRole('heading', { name: 'Timeline' }).waitFor();
      live.open();
      await page.locator('.live.is-live').waitFor();
      expect(misdeeds).toEqual({ errors: [], foreign: [] });
    },
    TEST_MS,
  );

  it(
    'draw no charts that what stands above them would push down later',
    async () => {
      const overview = gate();
      const { base, client } = await serve({ '/api/overview': overview, '/api/live': overview });
      await client.run('tenant', null);
      const { page } = await browser.open(`${base}/`);
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      await page.getByText('Loading…').waitFor();
      expect(await page.getByRole('heading', { name: 'Activity' }).count()).toBe(0);
      overview.open();
      await page.locator('.chart').first().waitFor();
      expect(await page.getByRole('link', { name: 'tenant' }).count()).toBe(1);
    },
    TEST_MS,
  );

  it(
    'draw the mean times of a single hour',
    async () => {
      const { base, client } = await serve();
      await client.call(mail, { to: 'x' });
      await until(async () => (await client.statistics(mail, { by: 'hour' })).some(({ done }) => done > 0));
      const { page } = await browser.open(`${base}/#/fn?fn=mail`, { colorScheme: 'light' });
      const chart = page.locator('.chart').filter({ hasText: 'Mean time' });
      await chart.locator('canvas').waitFor();
      const [red, green, blue] = RUNNING;
      // Whether the colour of the times of runs is in the picture.
      const isDrawn = () =>
        page.evaluate(`(() => {
          const canvas = document.querySelectorAll('.chart canvas')[1];
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          for (let at = 0; at < data.length; at += 4)
            if (data[at] === ${red} && data[at + 1] === ${green} && data[at + 2] === ${blue}) return true;
          return false;
        })()`);
      await eventually(async () => expect(await isDrawn()).toBe(true));
    },
    TEST_MS,
  );

  it(
    'have titles of their own',
    async () => {
      const { base, client } = await serve({}, { title: 'Orders' });
      await client.call(mail, { to: 'x' });
      const { page } = await browser.open(`${base}/`);
      const titles = {
        '': 'Overview · Orders',
        'fn?fn=mail': 'mail · Orders',
        'jobs?fn=mail&state=succeeded': 'mail: succeeded jobs · Orders',
        'jobs?fn=mail&tag=order:7': 'mail: jobs with the tag order:7 · Orders',
        'jobs?fn=mail&key=ada': 'mail: jobs with the key ada · Orders',
        'job?fn=mail&id=1': 'mail 1 · Orders',
        failures: 'Failed jobs · Orders',
        'failures?fn=mail': 'Failed jobs of mail · Orders',
        schedules: 'Schedules · Orders',
        'limits?fn=mail': 'Limits of mail · Orders',
        workers: 'Workers · Orders',
      };
      for (const [view, title] of Object.entries(titles)) {
        await page.goto(`${base}/#/${view}`);
        await eventually(async () => expect(await page.title()).toBe(title));
      }
    },
    TEST_MS,
  );

  it(
    'offer only what there is something to do for',
    async () => {
      const { base, client, gates } = await serve();
      const tagged = await client.run(mail, { to: 'x' }, { tags: ['order:7'] });
      await tagged.result();
      const { page } = await browser.open(`${base}/#/jobs?fn=mail&state=failed`);
      await page.getByText('No job is failed').waitFor();
      const offered = async () =>
        (await page.locator('main').getByRole('button').allTextContents()).filter((name) =>
          /retry|cancel|discard|edit/i.test(name),
        );
      expect(await offered()).toEqual([]);
      await page.goto(`${base}/#/jobs?fn=mail&tag=order:7`);
      await page.getByText('1 of 1 job').waitFor();
      expect(await offered()).toEqual([]);

      // What has ended while the dialog was on its way can't be confirmed.
      const held = await client.run(resize, { path: 'a.jpg', outcome: 'hold' });
      await eventually(async () => expect((await held.get()).state).toBe('running'));
      await page.goto(`${base}/#/jobs?fn=resize&state=running`);
      const cancel = page.getByRole('button', { name: 'Cancel all running' });
      await cancel.waitFor();
      gates.letGo('a.jpg');
      await held.result();
      await cancel.click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('There are none any more.').waitFor();
      expect(await dialog.getByRole('button', { name: 'Cancel them' }).isDisabled()).toBe(true);
      await dialog.getByRole('button', { name: 'Close' }).click();

      // A job that is deleted while it is looked at is still shown, without actions.
      const gone = await client.run(mail, { to: 'y' }, { delay: '1h' });
      await page.goto(`${base}/#/job?fn=mail&id=${gone.id}`);
      await page.getByRole('button', { name: 'Cancel', exact: true }).waitFor();
      await client.cancel(mail, gone.id);
      await page.getByRole('button', { name: 'Retry' }).waitFor();
      await client.discard(mail, gone.id);
      await page.getByText('no longer kept').waitFor();
      expect(await offered()).toEqual([]);
    },
    TEST_MS,
  );

  it(
    'say that there is no such function, and offer nothing for it, until it has a job',
    async () => {
      const { base, client } = await serve();
      const { page, misdeeds } = await browser.open(`${base}/#/fn?fn=mial`);
      await page.getByText('There is no such function').waitFor();
      const main = page.locator('main');
      expect(await main.getByRole('button').count()).toBe(0);
      expect(await main.getByRole('heading').allTextContents()).toEqual(['mial']);
      await client.run('mial', null);
      await page.getByRole('button', { name: 'Run', exact: true }).waitFor();
      expect(await page.getByText('There is no such function').count()).toBe(0);
      await page.goto(`${base}/#/fn?fn=mail`);
      await page.getByRole('button', { name: 'Pause' }).waitFor();
      expect(misdeeds).toEqual({ errors: [], foreign: [] });
    },
    TEST_MS,
  );

  it(
    'say of how many failed jobs the groups are, and which functions share a limit that is changed',
    async () => {
      const { base, app, client } = await serve();
      const script = `for id = 1, 1200 do
        local at = string.format('%.0f', tonumber(ARGV[1]) + id)
        redis.call('HSET', 'job:worse:' .. id, 'status', 'error', 'error', '{"name":"Error","message":"no disk"}', 'finished', at)
        redis.call('ZADD', 'ended:worse:failed', at, id)
      end
      redis.call('ZADD', 'functions', ARGV[1], 'worse')`;
      await redis.redis.eval(script, 0, Date.now() - 1200);
      for (const view of ['failures', 'failures?fn=worse']) {
        const { page } = await browser.open(`${base}/#/${view}`);
        await page.getByRole('heading', { level: 2 }).getByText('of the newest 1,000').waitFor();
        await page.getByText('1,000 jobs of the newest 1,000, last').waitFor();
        await page.getByRole('button', { name: /^Retry/ }).click();
        await page.getByRole('dialog').getByText('at least 1,000 jobs: 1,000 of the newest 1,000').waitFor();
      }

      const go = gate();
      const shared = defineLimit('api', { concurrency: 1 });
      for (const fn of ['one', 'other'])
        await app.get(GearMonkeyWorkers).add(fn, () => go.passed, { limit: { shared } });
      // The second one waits, so that the key is full.
      for (let jobs = 0; jobs < 2; jobs++) await client.run('one', null);
      const { page } = await browser.open(`${base}/#/limits?fn=one`);
      await page.getByRole('button', { name: 'Reset' }).click();
      await page.getByRole('dialog').getByText('It concerns all of these functions: one, other.').waitFor();
      go.open();
    },
    TEST_MS,
  );

  it(
    'show no failed jobs any more when they have been retried',
    async () => {
      const { base, client } = await serve();
      const job = await client.run(mail, { to: 'x', fails: true }, { retry: { attempts: 1 } });
      await job.result().catch((error: unknown) => error);
      await client.pause(mail);
      for (const view of ['failures?fn=mail', 'failures', 'jobs?fn=mail&state=failed']) {
        const { page } = await browser.open(`${base}/`);
        // What it shows later it has not read because ten seconds have passed.
        await page.context().addInitScript(`{
          const { setInterval } = globalThis;
          globalThis.setInterval = (run, ms) => (ms === 10_000 ? 0 : setInterval(run, ms));
        }`);
        await page.reload();
        await page.goto(`${base}/#/${view}`);
        await page.getByRole('button', { name: /^Retry/ }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Retry them' }).click();
        await page.getByText(/No job (?:of mail )?(?:has|is) failed/).waitFor();
        await client.resume(mail);
        // Another program has changed it: that is shown two seconds later at most.
        await eventually(async () => {
          expect(await json(base, '/api/failures?fn=mail')).toMatchObject({ total: 1 });
          expect(await json(base, '/api/overview')).toContainEqual(
            expect.objectContaining({ fn: mail.name, failed: 1 }),
          );
        });
        await client.pause(mail);
      }
    },
    TEST_MS,
  );

  it(
    'show on a narrow screen how many jobs have failed, and the message of the newest',
    async () => {
      const { base, client } = await serve();
      const viewport = { width: 375, height: 800 };
      const name = 'analytics.archive-of.customers';
      await client.run(name, null);
      for (let jobs = 0; jobs < 2; jobs++)
        await client
          .run(resize, { path: `missing-${jobs}.jpg`, outcome: 'fail' }, { retry: { attempts: 1 } })
          .then((job) => job.result())
          .catch((error: unknown) => error);
      const { page } = await browser.open(`${base}/`, { viewport });
      await page.getByRole('link', { name }).waitFor();
      const box = await page.getByRole('columnheader', { name: 'Failed' }).boundingBox();
      expect((box?.x ?? Infinity) + (box?.width ?? 0)).toBeLessThanOrEqual(viewport.width);
      await page.goto(`${base}/#/failures?fn=resize`);
      const { groups } = await json<FailuresView>(base, '/api/failures?fn=resize');
      await page.getByText(groups[0]?.example ?? '', { exact: true }).waitFor();
      expect(await page.getByText(/<(?:n|id|text)>/).count()).toBe(0);
    },
    TEST_MS,
  );

  it(
    'call things by their names',
    async () => {
      const { base, client } = await serve();
      const name = 'analytics.archive-of.customers';
      await client.run(name, null);
      const waiting = await client.run(resize, { path: 'a.jpg', outcome: 'wait' });
      await eventually(async () => expect((await waiting.get()).waitsFor).toBeDefined());
      const viewport = { width: 390, height: 844 };
      const { page, misdeeds } = await browser.open(`${base}/`, {
        viewport,
        locale: 'de-DE',
        timezoneId: 'Asia/Tokyo',
      });
      // A line ends between the parts of a name only.
      const link = page.getByRole('link', { name });
      await link.waitFor();
      const lines = await link.evaluate((one: { childNodes: Iterable<unknown> }) =>
        [...one.childNodes].map((node) => {
          const { document } = globalThis as unknown as {
            document: {
              createRange(): { selectNode(node: unknown): void; getClientRects(): { length: number } };
            };
          };
          const range = document.createRange();
          range.selectNode(node);
          return range.getClientRects().length;
        }),
      );
      expect(lines.length).toBeGreaterThan(3);
      expect(Math.max(...lines)).toBe(1);
      await page.getByText('Times are of Asia/Tokyo').waitFor();

      await page.goto(`${base}/#/job?fn=resize&id=${waiting.id}`);
      await page.locator('h1 + .badge').getByText('waits for a signal').waitFor();
      // In the way of the browser's user, with the zone.
      const times = await page.locator('dl.facts time').allTextContents();
      expect(times[0]).toMatch(/^\d\d\.\d\d\.\d{4}, \d\d:\d\d:\d\d (?:MEZ|GMT|UTC)/);
      expect(misdeeds).toEqual({ errors: [], foreign: [] });
    },
    TEST_MS,
  );
});
