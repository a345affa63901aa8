import { beforeEach, describe, expect, it } from '@jest/globals';
import { GearMonkeyClient } from 'nestjs-gearmonkey';
import { gate, type Gate } from '../support/gate.js';
import { eventually } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { useBrowser } from './browser.js';
import { mail, pageApp } from './page-app.js';

const TEST_MS = 240_000;
const FUNCTIONS = 217;

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
    'have titles of their own',
    async () => {
      const { base, client } = await serve({}, { title: 'Orders' });
      await client.call(mail, { to: 'x' });
      const { page } = await browser.open(`${base}/`);
      const titles = {
        '': 'Overview · Orders',
        'fn?fn=mail': 'mail · Orders',
        'jobs?fn=mail&state=success': 'mail: success jobs · Orders',
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
});
