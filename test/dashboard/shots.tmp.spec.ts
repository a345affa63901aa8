import { describe, it } from '@jest/globals';
import { GearMonkeyClient } from 'nestjs-gearmonkey';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { useBrowser } from './browser.js';
import { enqueueSome, pageApp } from './page-app.js';
import { setTimeout as sleep } from 'node:timers/promises';

describe('shots', () => {
  const redis = useRedis();
  const apps = useServedApps();
  const browser = useBrowser();
  it('all', async () => {
    const { app, base } = await apps.serve('express', pageApp(redis.url).module);
    const client = app.get(GearMonkeyClient);
    await enqueueSome(client);
    await client.pause('unserved');
    await sleep(7000);
    const views = {
      overview: '',
      fn: 'fn?fn=resize',
      jobs: 'jobs?fn=resize&state=success',
      failed: 'jobs?fn=resize&state=failed',
      job: 'job?fn=resize&id=13',
      running: 'job?fn=resize&id=16',
      ok: 'job?fn=resize&id=3',
      failures: 'failures',
      schedules: 'schedules',
      limits: 'limits',
      workers: 'workers',
      none: 'job?fn=resize&id=999',
    };
    for (const [theme, width] of [
      ['light', 1280],
      ['dark', 390],
    ] as const) {
      const { page, misdeeds } = await browser.open(`${base}/`, {
        colorScheme: theme,
        viewport: { width, height: width > 500 ? 900 : 844 },
      });
      for (const [name, hash] of Object.entries(views)) {
        await page.goto(`${base}/#/${hash}`);
        await sleep(1200);
        await page.screenshot({ path: `/tmp/shots/${name}-${theme}.png`, fullPage: false });
      }
      console.log(theme, misdeeds);
    }
  }, 200_000);
});
