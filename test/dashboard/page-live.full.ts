import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Server, ServerResponse } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import { GearMonkeyClient } from 'nestjs-gearmonkey';
import { CutLine } from '../support/cut-line.js';
import { eventually } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { problemsOf, useBrowser } from './browser.js';
import { mail, pageApp, resize } from './page-app.js';

const TEST_MS = 240_000;
/** A browser opens six connections to a host: a seventh window with a stream of its own would wait without end. */
const WINDOWS = 7;

describe('the page, live', () => {
  const redis = useRedis();
  const browser = useBrowser();
  const apps = useServedApps();
  beforeEach(() => redis.redis.flushall());

  async function serve(options: Parameters<typeof pageApp>[1] = {}, connection = redis.url) {
    const { module, gates } = pageApp(connection, options);
    const { app, base } = await apps.serve('express', module);
    return { app, base, gates, client: app.get(GearMonkeyClient) };
  }

  /** Streams that are open, and how many there have been. */
  function streamsOf(app: INestApplication) {
    const found = { open: 0, ever: 0 };
    (app.getHttpServer() as Server).on('request', ({ url = '' }, response: ServerResponse) => {
      if (!url.includes('/api/live')) return;
      found.open += 1;
      found.ever += 1;
      response.on('close', () => (found.open -= 1));
    });
    return found;
  }

  it.each(['a stream that they share', 'polls, where there are no shared workers'])(
    'shows seven windows of a browser what moves, by %s',
    async (way) => {
      const isShared = way.startsWith('a stream');
      const { app, base, gates, client } = await serve();
      const streams = streamsOf(app);
      const jobs = await client.runMany(
        resize,
        Array.from({ length: WINDOWS - 1 }, (_, n) => ({ path: `${n}.jpg`, outcome: 'hold' })),
      );
      const { page: first } = await browser.open(`${base}/`);
      if (!isShared) {
        await first.context().addInitScript('delete globalThis.SharedWorker');
        await first.reload();
        await eventually(() => expect(streams.open).toBe(0));
      }
      const before = streams.ever;
      const pages = [first];
      // More jobs than a stream takes.
      for (const { id } of jobs) {
        const page = await first.context().newPage();
        await page.goto(`${base}/#/job?fn=resize&id=${id}`);
        pages.push(page);
      }
      for (const page of pages) await page.locator('.live.is-live').waitFor();
      expect(streams.open).toBe(isShared ? 1 : 0);
      // The window that was first has no part in it.
      await first.close();
      const last = await pages[1]?.context().newPage();
      await last?.goto(`${base}/`);
      for (let n = 0; n < jobs.length; n++) {
        await eventually(async () => expect((await jobs[n]?.get())?.state).toBe('running'), {
          timeout: 60_000,
        });
        gates.letGo(`${n}.jpg`);
      }
      for (const page of pages.slice(1)) await page.locator('h1 + .badge.is-succeeded').waitFor();
      await client.run('later', null);
      await last?.getByRole('link', { name: 'later' }).waitFor();
      expect(streams.open).toBe(isShared ? 1 : 0);
      expect(streams.ever > before).toBe(isShared);
    },
    TEST_MS,
  );

  it(
    'tells a window why it is refused, and the others what they watch',
    async () => {
      const { app, base, client } = await serve({
        auth: () => ({ name: 'ops', view: (fn) => fn === 'mail', act: false }),
      });
      const streams = streamsOf(app);
      await client.run(mail, { to: 'a' });
      const { page } = await browser.open(`${base}/`);
      await page.locator('.live.is-live').waitFor();
      const other = await page.context().newPage();
      await other.goto(`${base}/#/job?fn=secret&id=1`);
      await other.locator('.notice.is-error').waitFor();
      await client.run(mail, { to: 'later' }, { delay: '1h' });
      const row = page.getByRole('row').filter({ hasText: 'mail' });
      await row.getByRole('link', { name: '1' }).first().waitFor();
      await page.locator('.live.is-live').waitFor();
      expect(await page.locator('.notice.is-error').count()).toBe(0);
      expect(streams.open).toBe(1);
    },
    TEST_MS,
  );

  it(
    'says in an outage of Redis how old its numbers are, and goes on behind it',
    async () => {
      const line = await CutLine.to(redis.port);
      const { base, client } = await serve({}, `redis://127.0.0.1:${line.port}`);
      const { id } = await client.run(mail, { to: 'a' });
      const { page } = await browser.open(`${base}/`, { bypassCSP: true });
      for (const view of ['', 'fn?fn=mail', `job?fn=mail&id=${id}`]) {
        await page.goto(`${base}/#/${view}`);
        await page.locator('.live.is-live').waitFor();
        await page.locator('.tiles, .timeline').first().waitFor();
        line.cut();
        await page.getByText(/^not live, .* old$/).waitFor();
        await page.getByText(/Redis does not answer\. What is shown is from .*\d/).waitFor();
        expect(await page.locator('.live.is-live').count()).toBe(0);
        expect(await page.locator('.tiles, .timeline').count()).toBeGreaterThan(0);
        expect(await page.locator('main').innerText()).not.toContain('connection`');
        expect(await problemsOf(page)).toEqual([]);
        line.mend();
        await page.locator('.live.is-live').waitFor();
        await page.getByText('does not answer').waitFor({ state: 'detached' });
      }
      line.close();
    },
    TEST_MS,
  );

  it(
    'says that the app does not answer, and goes on when it does',
    async () => {
      const auth = () => ({ name: 'ops', view: true, act: true }) as const;
      const { app, base, client } = await serve({ auth });
      await client.run(mail, { to: 'a' });
      const { page } = await browser.open(`${base}/`);
      await page.locator('.live.is-live').waitFor();
      await page.getByRole('link', { name: 'mail' }).waitFor();
      const { port } = new URL(base);
      await app.close();
      await page.getByText(/^not live, .* old$/).waitFor();
      await page.getByText(/The app does not answer\. What is shown is from/).waitFor();
      const again = await apps.create('express', pageApp(redis.url, { auth }).module);
      await again.listen(Number(port), '127.0.0.1');
      await page.locator('.live.is-live').waitFor();
    },
    TEST_MS,
  );
});
