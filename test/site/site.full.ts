import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { problemsOf, useBrowser } from '../dashboard/browser.js';
import { onThisMachine } from '../support/machine.js';
import { TestProcess } from '../support/test-process.js';
import { until } from '../support/until.js';
import { QUESTIONS } from './questions.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The first run installs the site's packages. */
const BUILD_MS = onThisMachine(240_000);

describe('the documentation site', () => {
  const browser = useBrowser();
  let folder: string;
  let server: TestProcess;
  let url: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gearmonkey-site-'));
    server = new TestProcess(process.execPath, ['scripts/run.mjs', 'docs', '--out', folder, '--port', '0']);
    const shown = () => /is at (http:\/\/127\.0\.0\.1:\d+)/.exec(server.stdout)?.[1];
    url = await server.shows(shown, 'the address of the site', { timeout: BUILD_MS });
  }, BUILD_MS);
  afterAll(async () => {
    await server?.kill('SIGTERM');
    await rm(folder, { recursive: true, force: true });
  });

  /** A page hears the key only once its programs run. */
  async function fillSearch(page: Page, words: string): Promise<void> {
    const box = page.locator('#localsearch-input');
    await until(
      async () => {
        if (!(await box.isVisible())) await page.keyboard.press('/');
        return box.isVisible();
      },
      { timeout: 60_000, interval: 500 },
    );
    await box.fill(words);
  }

  /** The pages of the results for these words, best first. */
  async function search(page: Page, words: string): Promise<string[]> {
    await fillSearch(page, words);
    const results = page.locator('.VPLocalSearchBox .results li a');
    await results.first().waitFor();
    const links = await results.evaluateAll((found) => found.map((link) => link.getAttribute('href') ?? ''));
    await page.keyboard.press('Escape');
    await page.locator('.VPLocalSearchBox').waitFor({ state: 'detached' });
    return links.map((link) => link.replace(/^\//, '').replace(/\.html.*$/, ''));
  }

  it('leads from its first page to the start, needs no other host, and is accessible', async () => {
    const { page, misdeeds } = await browser.open(url);
    await page.locator('main').getByRole('link', { name: 'Start', exact: true }).click();
    await page.waitForURL('**/start.html');
    // The address changes before the page does.
    await page.locator('h1', { hasText: 'Start' }).waitFor();
    expect(await problemsOf(page)).toEqual([]);
    expect(misdeeds).toEqual({ errors: [], foreign: [] });
  });

  it('has a search whose results lead to the section', async () => {
    const { page, misdeeds } = await browser.open(url);
    await fillSearch(page, 'graceful shutdown');
    await page.locator('.VPLocalSearchBox .results li a').first().click();
    await page.waitForURL('**/guides/failures.html#graceful-shutdown-sigterm-and-deploys');
    await page.getByRole('heading', { name: 'Graceful shutdown' }).waitFor();
    expect(misdeeds).toEqual({ errors: [], foreign: [] });
  });

  it('brings the page that answers a question first', async () => {
    const { page } = await browser.open(url);
    const wrong: string[] = [];
    for (const [question, right] of QUESTIONS) {
      const found = await search(page, question);
      if (!found[0]?.startsWith(right)) wrong.push(`${question}: ${found.slice(0, 4).join(', ')}`);
    }
    expect(QUESTIONS.length).toBeGreaterThanOrEqual(20);
    expect(wrong).toEqual([]);
  });

  it('has each page as Markdown beside it, and lists of them for language models', async () => {
    const site = folder;
    const pages = readdirSync(site, { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.html'),
    );
    expect(pages.length).toBeGreaterThan(100);
    const alone = pages.filter(
      (path) => path !== '404.html' && !existsSync(join(site, path.replace(/html$/, 'md'))),
    );
    expect(alone).toEqual([]);
    const list = readFileSync(join(site, 'llms.txt'), 'utf8');
    const named = [...list.matchAll(/\]\(([^)]+)\)/g)].map(([, path = '']) => path);
    expect(named.length).toBeGreaterThan(80);
    expect(named.filter((path) => !existsSync(join(site, path)))).toEqual([]);
    expect(readFileSync(join(site, 'llms-full.txt'), 'utf8')).toContain(
      '# Limits: concurrency and rates across all workers',
    );
    const answer = await fetch(`${url}/guides/limits.md`);
    expect(answer.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    await expect(answer.text()).resolves.toBe(readFileSync(join(ROOT, 'docs/guides/limits.md'), 'utf8'));
  });

  it('does not have the notes for contributors', () => {
    expect(existsSync(join(folder, 'notes'))).toBe(false);
  });

  it('serves no file outside of its folder', async () => {
    await expect(fetch(`${url}/..%2fmenu.json`)).resolves.toMatchObject({ status: 404 });
    await expect(fetch(`${url}/no-such-page`)).resolves.toMatchObject({ status: 404 });
  });

  it('fails to build with a dead link or anchor, and names it', async () => {
    const site = join(folder, 'dead');
    await mkdir(site);
    await writeFile(
      join(site, 'a.html'),
      '<h1 id="here">A</h1><a href="/b.html#gone">B</a><a href="./c.html">C</a>',
    );
    await writeFile(
      join(site, 'b.html'),
      '<a href="a.html#here">A</a><a href="https://example.com/x">X</a><img src="/none.png">',
    );
    const { deadLinks } = (await import(new URL('../../site/links.mjs', import.meta.url).href)) as {
      deadLinks(folder: string): string[];
    };
    expect(deadLinks(site)).toEqual(['a.html: /b.html#gone', 'a.html: ./c.html', 'b.html: /none.png']);
  });
});
