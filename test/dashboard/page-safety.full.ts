import { beforeEach, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { GearMonkeyClient } from 'nestjs-gearmonkey';
import { DashboardUrl } from 'nestjs-gearmonkey/dashboard';
import { eventually } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { problemsOf, useBrowser } from './browser.js';
import { stripping } from './proxy.js';
import { enqueueSome, mail, pageApp, resize } from './page-app.js';

const TEST_MS = 240_000;
const VIEWS = [
  ...['', 'fn?fn=resize', 'jobs?fn=resize&state=succeeded', 'jobs?fn=resize&state=failed'],
  ...['job?fn=resize&id=3', 'job?fn=resize&id=13', 'failures', 'schedules', 'limits?fn=report', 'workers'],
];
/** Each would do something if it were taken for markup, a script or an address. */
const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(1)</script>',
  "javascript:alert('x')",
  '<svg/onload=fetch("https://example.com/")>',
  '{{constructor.constructor("alert(1)")()}}',
  '\u202Egnp.exe\u0000\u001B[31m',
];

const HELMET = {
  'Content-Security-Policy':
    "default-src 'self';base-uri 'self';font-src 'self' https: data:;form-action 'self';frame-ancestors 'self';img-src 'self' data:;" +
    "object-src 'none';script-src 'self';script-src-attr 'none';style-src 'self' https: 'unsafe-inline';upgrade-insecure-requests",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Origin-Agent-Cluster': '?1',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-DNS-Prefetch-Control': 'off',
  'X-Download-Options': 'noopen',
  'X-Frame-Options': 'SAMEORIGIN',
  'X-Permitted-Cross-Domain-Policies': 'none',
  'X-XSS-Protection': '0',
};

describe('the page is safe', () => {
  const redis = useRedis();
  const browser = useBrowser();
  const apps = useServedApps();
  beforeEach(() => redis.redis.flushall());

  async function serve(options: Parameters<typeof pageApp>[1] = {}) {
    const { module, gates } = pageApp(redis.url, options);
    const { app, base } = await apps.serve('express', module);
    return { app, base, gates, client: app.get(GearMonkeyClient) };
  }

  /** Goes to a view and waits until it is there. */
  async function show(page: Page, base: string, view: string): Promise<void> {
    await page.goto(`${base}/#/${view}`);
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    await eventually(async () => expect([view, await page.locator('.loading').count()]).toEqual([view, 0]));
  }

  it(
    'to who gets hostile names, payloads, errors, tags and headers',
    async () => {
      const { base, client } = await serve();
      for (const text of HOSTILE) {
        const job = await client.run(
          resize,
          { path: text, outcome: 'fail' },
          { headers: { note: text.slice(0, 40) } },
        );
        await job.result().catch((error: unknown) => error);
        await redis.redis.hset(`job:resize:${job.id}`, {
          later: text,
          options: JSON.stringify({ tags: [text], x: text }),
        });
      }
      const name = '<img/src=x/onerror=alert(2)>';
      await redis.redis.hset(`job:${name}:1`, { status: 'idle', input: HOSTILE[1] ?? '' });
      await redis.redis.lpush(`queue:${name}:normal`, '1');
      await redis.redis.set(`uid:${name}`, '1');
      await redis.redis.zadd('functions', Date.now(), name);
      await client.recur(mail, { id: '<b/onclick=alert(3)>x', every: '1h', input: { to: HOSTILE[0] ?? '' } });
      const { page, misdeeds } = await browser.open(`${base}/`);
      const fn = encodeURIComponent(name);
      const views = [
        ...['', 'jobs?fn=resize&state=failed', 'failures', 'schedules', 'workers', `fn?fn=${fn}`],
        ...[
          `jobs?fn=${fn}&state=waiting`,
          `job?fn=${fn}&id=1`,
          ...HOSTILE.map((_, n) => `job?fn=resize&id=${n + 1}`),
        ],
        // The address itself is hostile.
        ...HOSTILE.map((text) => `fn?fn=${encodeURIComponent(text)}&i=${encodeURIComponent(text)}`),
      ];
      for (const view of views) await show(page, base, view);
      await page.goto(`${base}/#/job?fn=resize&id=1`);
      await page.getByText('<img src=x onerror=alert(1)>').first().waitFor();
      expect(
        await page.locator('main img, main script, main svg, main [onclick], main [onerror]').count(),
      ).toBe(0);
      expect(misdeeds.foreign).toEqual([]);
      expect(misdeeds.errors.filter((error) => !/status of 4\d\d/.test(error))).toEqual([]);
    },
    TEST_MS,
  );

  it(
    'for large payloads, of which it shows a part, when asked',
    async () => {
      const { base, client } = await serve();
      const large = 'x'.repeat(500_000);
      const { id } = await client.run(resize, { path: large });
      await client.result(resize, id);
      const { page } = await browser.open(`${base}/`);
      let most = 0;
      page.on('response', (response) => {
        most = Math.max(most, Number(response.headers()['content-length'] ?? 0));
      });
      await show(page, base, 'jobs?fn=resize&state=succeeded');
      await show(page, base, `job?fn=resize&id=${id}`);
      await page.getByRole('button', { name: 'Show' }).first().click();
      await page.getByText('The first 65,536 characters of 488.3 kB').waitFor();
      expect(most).toBeLessThan(100_000);
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Download' }).first().click(),
      ]);
      expect(readFileSync(await download.path(), 'utf8')).toHaveLength(500_011);
    },
    TEST_MS,
  );

  it(
    'behind a proxy that strips a prefix',
    async () => {
      const { app, base, client } = await serve();
      await client.call(resize, { path: 'a' });
      const { search } = new URL(app.get(DashboardUrl).url ?? '');
      const proxy = await stripping('/tools/queue', new URL(base).origin);
      try {
        const { port } = proxy.address() as AddressInfo;
        const through = `http://127.0.0.1:${port}/tools/queue/jobs`;
        const { page, misdeeds } = await browser.open(`${through}/${search}`);
        expect(page.url()).not.toContain('token');
        await page.getByRole('link', { name: 'resize' }).waitFor();
        await page.locator('.live.is-live').waitFor();
        await show(page, through, 'fn?fn=resize');
        await page.getByRole('button', { name: 'Pause' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
        await page.locator('.badge.is-paused').waitFor();
        expect(misdeeds).toEqual({ errors: [], foreign: [] });
      } finally {
        proxy.closeAllConnections();
        proxy.close();
      }
    },
    TEST_MS,
  );

  it(
    'under the headers that helmet sets by default',
    async () => {
      const { module } = pageApp(redis.url);
      const { app, base } = await apps.serve('express', module, (own) => {
        own.use((_request: unknown, response: ServerResponse, next: () => void) => {
          for (const [name, value] of Object.entries(HELMET)) response.setHeader(name, value);
          next();
        });
      });
      await app.get(GearMonkeyClient).call(resize, { path: 'a' });
      const { page, misdeeds } = await browser.open(`${base}/`);
      await page.getByRole('link', { name: 'resize' }).waitFor();
      await page.locator('.live.is-live').waitFor();
      await page.locator('.chart canvas').first().waitFor();
      expect(misdeeds).toEqual({ errors: [], foreign: [] });
    },
    TEST_MS,
  );

  it.each(['light', 'dark'] as const)(
    'and can be read by everyone, in %s colours',
    async (colorScheme) => {
      const { base, client } = await serve();
      await enqueueSome(client);
      await client.pause('unserved');
      const { page, misdeeds } = await browser.open(`${base}/`, { colorScheme, bypassCSP: true });
      await eventually(async () => expect((await client.list(resize, { state: 'failed' })).total).toBe(3));
      for (const view of VIEWS) {
        await show(page, base, view);
        expect([view, await problemsOf(page)]).toEqual([view, []]);
      }
      await page.getByRole('button', { name: 'Keyboard help' }).click();
      await expect(problemsOf(page)).resolves.toEqual([]);
      expect(misdeeds).toEqual({ errors: [], foreign: [] });
    },
    TEST_MS,
  );
});
