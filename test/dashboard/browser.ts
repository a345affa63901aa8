import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type Page,
} from 'playwright-core';
import { cookieOf } from './http.js';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** A busy machine needs its time. */
const PATIENCE_MS = 60_000;

/** What the browser says of a server that had no answer in time, as on a busy machine: the page asks again. */
const NO_TIME = /^Failed to load resource: .* status of 503 /;

/** What a page did that it should not have done. */
export interface Misdeeds {
  readonly errors: string[];
  /** Requests to any other origin. */
  readonly foreign: string[];
}

/**
 * One browser for a file of tests, and pages that close after each test. Called before `useServedApps`, so that they close
 * first: a connection that a browser has opened and not used keeps a server of Node from closing.
 */
export function useBrowser() {
  let browser: Browser;
  const contexts: BrowserContext[] = [];
  beforeAll(async () => {
    const executablePath = PLACES.find((place) => existsSync(place));
    if (executablePath === undefined)
      throw new Error(`No Chromium at ${PLACES.join(', ')}: apt-get install chromium`);
    browser = await chromium.launch({
      executablePath,
      args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--disable-quic'],
    });
  }, PATIENCE_MS);
  afterAll(() => browser?.close());
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
  });

  return {
    async open(
      url: string,
      options: BrowserContextOptions = {},
    ): Promise<{ page: Page; misdeeds: Misdeeds }> {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
      context.setDefaultTimeout(PATIENCE_MS);
      contexts.push(context);
      const [name = '', value = ''] = cookieOf(url)?.split('=') ?? [];
      if (name !== '') await context.addCookies([{ name, value, url: new URL(url).origin }]);
      const page = await context.newPage();
      const misdeeds: Misdeeds = { errors: [], foreign: [] };
      const own = new URL(url).origin;
      page.on('pageerror', (error) => misdeeds.errors.push(String(error)));
      page.on('console', (message) => {
        if (message.type() === 'error' && !NO_TIME.test(message.text())) misdeeds.errors.push(message.text());
      });
      page.on('dialog', (dialog) => {
        misdeeds.errors.push(`a dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      page.on('request', (request) => {
        if (new URL(request.url()).origin !== own) misdeeds.foreign.push(request.url());
      });
      await page.goto(url);
      return { page, misdeeds };
    },
  };
}

/** What axe finds: the rule, and where. */
export async function problemsOf(page: Page): Promise<string[]> {
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(axe);
  const found = (await page.evaluate('axe.run()')) as {
    violations: { id: string; nodes: { html: string }[] }[];
  };
  return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}
