import { afterEach, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { useBrowser } from '../dashboard/browser.js';
import { useRedis } from '../support/use-redis.js';
import { PLATFORMS, serveEvents } from './server-sent-events.js';

const TOKENS = ['a', 'b', 'c', 'd', 'e', 'f'];

describe('An EventSource in a browser', () => {
  const used = useRedis();
  const browser = useBrowser();
  const served: Awaited<ReturnType<typeof serveEvents>>[] = [];
  afterEach(() => Promise.all(served.splice(0).map(({ half, app }) => (half.open(), app.close()))));

  const seenBy = (page: Page) => page.evaluate('seen') as Promise<unknown[]>;

  it.each(Object.keys(PLATFORMS) as (keyof typeof PLATFORMS)[])(
    'that is cut off connects again, has each token once, and stops at the end, on %s',
    async (platform) => {
      const all = await serveEvents(platform, { connection: used.url, fn: used.fn(), tokens: TOKENS });
      served.push(all);
      const { app, url, jobs, ref, half } = all;
      const { id } = await jobs.run(ref, true);
      const { page } = await browser.open(`${url}/?${id}`);
      await page.waitForFunction('seen.length === 4');
      (app.getHttpServer() as { closeAllConnections(): void }).closeAllConnections();
      await page.waitForFunction('seen.filter((one) => one === "open").length === 2');
      half.open();
      await page.waitForFunction('seen.at(-1) === "closed"');
      const seen = await seenBy(page);
      expect(seen).toEqual(['open', 'a', 'b', 'c', 'open', 'd', 'e', 'f', { state: 'succeeded' }, 'closed']);
    },
  );
});
