import { beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import type { Server, ServerResponse } from 'node:http';
import type { Page } from 'playwright-core';
import { GearMonkeyClient, GearMonkeyModule } from 'nestjs-gearmonkey';
import { DashboardModule } from 'nestjs-gearmonkey/dashboard';
import { qless, QlessClient, QlessModule } from 'nestjs-gearmonkey/qless';
import { eventually, until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { useBrowser } from './browser.js';
import { mail, pageApp, report, resize } from './page-app.js';
import { inFullTier } from '../support/tier.js';

const TEST_MS = 120_000;

describe('the page', () => {
  const redis = useRedis();
  const browser = useBrowser();
  const apps = useServedApps();
  beforeAll(() => redis.redis.flushall());

  async function open(path = '', options: Parameters<typeof pageApp>[1] = {}) {
    await redis.redis.flushall();
    const { module, gates } = pageApp(redis.url, options);
    const { app, base } = await apps.serve('express', module);
    const opened = await browser.open(`${base}/${path}`);
    return { ...opened, base, gates, app, client: app.get(GearMonkeyClient) };
  }

  /** Answers the dialog, once it says this. */
  async function confirm(page: Page, says: RegExp, verb: string): Promise<void> {
    const dialog = page.getByRole('dialog');
    await dialog.getByText(says).waitFor();
    await dialog.getByRole('button', { name: verb, exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
  }

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

  it(
    'runs a job and shows it live to its end',
    async () => {
      const { page, gates, misdeeds } = await open('#/fn?fn=resize');
      await page.getByLabel('Input, as JSON').fill('{"path":"cat.jpg","outcome":"hold"}');
      await button(page, 'Run').click();
      await page.getByRole('link', { name: 'Job 1' }).click();
      await page.locator('.badge.is-running').waitFor();
      await expect(page.getByRole('progressbar', { name: 'Progress' }).getAttribute('value')).resolves.toBe(
        '1',
      );
      const worker = page.locator('dl.facts a', { has: page.locator('code') });
      await worker.click();
      await page
        .getByRole('row')
        .filter({ hasText: 'there' })
        .getByRole('link', { name: 'resize 1' })
        .click();
      gates.letGo('cat.jpg');
      await page.locator('h1 + .badge.is-succeeded').waitFor();
      await page.getByText('"bytes": 7').waitFor();
      await expect(page.locator('.timeline li').allTextContents()).resolves.toEqual([
        expect.stringContaining('Enqueued'),
        expect.stringContaining('Attempt 1 began'),
        expect.stringContaining('Succeeded'),
      ]);
      expect(misdeeds).toEqual({ errors: [], foreign: [] });
    },
    TEST_MS,
  );

  it(
    'shows where to sign in when the session has ended, and what it showed after that',
    async () => {
      let isSignedIn = true;
      const auth = () => (isSignedIn ? { name: 'ada', view: true, act: true } : undefined);
      const { page, base } = await open('#/fn?fn=resize', { auth, login: '/jobs/api/session' });
      await page.getByRole('heading', { name: 'resize' }).waitFor();
      await button(page, 'Pause').click();
      isSignedIn = false;
      const act = page.getByRole('dialog').getByRole('button', { name: 'Pause' });
      // The page may have learned of it before.
      await act.click({ timeout: 5000 }).catch(() => undefined);
      await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
      await expect(page.getByRole('heading', { name: 'resize' }).count()).resolves.toBe(0);
      isSignedIn = true;
      await page.getByRole('link', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'resize' }).waitFor();
      expect(page.url()).toBe(`${base}/#/fn?fn=resize`);
    },
    TEST_MS,
  );

  it(
    'shows it as well when the app answers with its own login page, or the stream is refused',
    async () => {
      // The stream is asked for by a worker, whose requests no page can answer.
      let isRefused = false;
      const { base } = await apps.serve('express', pageApp(redis.url).module, (own) => {
        own.use(({ path = '' }: { path?: string }, response: ServerResponse, next: () => void) => {
          if (isRefused && path.endsWith('/api/live')) response.writeHead(401).end('<h1>Login</h1>');
          else next();
        });
      });
      const { page } = await browser.open(`${base}/`);
      await page.locator('.live.is-live').waitFor();
      const login = { status: 200, contentType: 'text/html', body: '<h1>Login</h1>' };
      await page.route('**/api/jobs?*', (route) => route.fulfill(login));
      await page.evaluate(`location.hash = '#/jobs?fn=resize'`);
      await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
      isRefused = true;
      await page.evaluate(`location.hash = '#/'`);
      await page.getByRole('link', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
    },
    TEST_MS,
  );

  inFullTier(() => {
    it(
      'shows the steps of a job as they end',
      async () => {
        const { page, gates } = await open('#/fn?fn=resize');
        await page.getByLabel('Input, as JSON').fill('{"path":"steps.jpg","outcome":"hold"}');
        await button(page, 'Run').click();
        await page.getByRole('link', { name: 'Job 1' }).click();
        await page.getByRole('heading', { name: 'Steps' }).waitFor();
        await page.getByText(/^measureended .* 1 byte$/).waitFor();
        gates.letGo('steps.jpg');
        await page.locator('h1 + .badge.is-succeeded').waitFor();
      },
      TEST_MS,
    );
  });

  inFullTier(() => {
    it(
      'shows the signal that a job waits for, and no data of signals',
      async () => {
        const { page, client } = await open('#/fn?fn=resize');
        const job = await client.run(resize, { path: 'wait.jpg', outcome: 'wait' });
        await until(async () => (await job.get()).waitsFor?.[0] === 'approved');
        await job.signal('other', 'a secret');
        await page.goto(page.url().replace(/#.*/, `#/job?fn=resize&id=${job.id}`));
        await page.getByText(/^the signal approved until /).waitFor();
        expect(await page.locator('main').innerText()).not.toContain('a secret');
        await job.signal('approved');
        await page.locator('h1 + .badge.is-succeeded').waitFor();
      },
      TEST_MS,
    );
  });

  inFullTier(() => {
    it(
      'shows what a job streams and its log as they go on',
      async () => {
        const { page, gates } = await open('#/fn?fn=resize');
        await page.getByLabel('Input, as JSON').fill('{"path":"stream.jpg","outcome":"stream"}');
        await button(page, 'Run').click();
        await page.getByRole('link', { name: 'Job 1' }).click();
        const output = page.getByLabel('Streamed output');
        const log = page.getByLabel('Log', { exact: true });
        await page.getByText('one two {"n":3}').waitFor();
        await log.getByText('begins <b>bold</b>').waitFor();
        gates.letGo('stream.jpg');
        await log.getByText('ends').waitFor();
        await eventually(async () => expect(await output.innerText()).toBe('one two {"n":3}\nthe end'));
        await page.locator('h1 + .badge.is-succeeded').waitFor();
      },
      TEST_MS,
    );
  });

  inFullTier(() => {
    it(
      'groups failed jobs by their error, and retries a group',
      async () => {
        const { page, client } = await open();
        const jobs = await client.runMany(
          resize,
          [1, 2, 3].map((n) => ({ path: `${n}.jpg`, outcome: 'fail' })),
        );
        await client.run(mail, { to: 'x', fails: true });
        await Promise.all(jobs.map((job) => job.result().catch((error: unknown) => error)));
        await page.goto(`${page.url().split('#')[0]}#/failures`);
        const group = page.locator('[data-group]').filter({ hasText: 'no such picture' });
        await group.getByText('3 jobs').waitFor();
        await group.getByRole('button', { name: 'Retry them' }).click();
        await confirm(page, /This concerns 3 jobs/, 'Retry them');
        await page.getByText('3 jobs of resize retried').waitFor();
        await eventually(async () => {
          const failed = await client.list(resize, { state: 'failed' });
          expect(failed.jobs.map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
          expect(await redis.redis.hget(`job:resize:${jobs[0]?.id}`, 'retried')).not.toBeNull();
        });
      },
      TEST_MS,
    );
  });

  inFullTier(() => {
    it(
      'pauses and resumes a function',
      async () => {
        const { page, client } = await open('#/fn?fn=mail');
        await client.run(mail, { to: 'x' });
        await button(page, 'Pause').click();
        await confirm(page, /begin no more jobs/, 'Pause');
        await page.locator('.badge.is-paused').waitFor();
        const isPaused = async () => (await client.overview()).find(({ fn }) => fn === 'mail')?.paused;
        await expect(isPaused()).resolves.toBe(true);
        await button(page, 'Resume').click();
        await confirm(page, /begin jobs again/, 'Resume');
        await button(page, 'Pause').waitFor();
        await expect(isPaused()).resolves.toBe(false);
      },
      TEST_MS,
    );
  });

  inFullTier(() => {
    it(
      'changes a limit, which takes effect at once',
      async () => {
        const { page, client } = await open('#/limits?fn=report');
        await client.runMany(report, Array(3).fill({ tenant: 'ada' }));
        const row = page.getByRole('row').filter({ hasText: 'ada' });
        await row.getByText('full').waitFor();
        await page.getByLabel('Running at once').fill('2');
        await button(page, 'Change the limit').click();
        await confirm(page, /for each key, on all workers/, 'Change it');
        await eventually(async () =>
          expect(await client.limits(report)).toEqual([expect.objectContaining({ running: 2 })]),
        );
        await button(page, 'Reset').click();
        await confirm(page, /numbers of the app/, 'Reset it');
      },
      TEST_MS,
    );
  });

  inFullTier(() => {
    it(
      'shows a schedule in words, and runs it now',
      async () => {
        const { page, client } = await open();
        const cron = '0 9 * * 1-5';
        await client.recur(mail, { id: 'news', cron, timezone: 'Europe/Berlin', input: { to: 'all' } });
        await page.goto(`${page.url().split('#')[0]}#/schedules`);
        await page.getByText('weekdays at 9:00, Europe/Berlin').waitFor();
        await button(page, 'Run now').click();
        await confirm(page, /One job of mail is enqueued now/, 'Run now');
        await eventually(async () =>
          expect((await client.list(mail, { state: 'succeeded' })).jobs).toEqual([
            expect.objectContaining({ id: '1' }),
          ]),
        );
      },
      TEST_MS,
    );
  });

  inFullTier(() => {
    it(
      'finds jobs with a tag, shows only some of them, and retries those that failed',
      async () => {
        const { page, client, base } = await open();
        const tags = ['order:7'];
        const failed = await client.runMany(
          resize,
          [1, 2].map((n) => ({ path: `${n}.jpg`, outcome: 'fail' })),
          { tags },
        );
        const other = await client.run(resize, { path: 'other.jpg', outcome: 'fail' });
        await client.call(resize, { path: '3.jpg' }, { tags });
        await Promise.all([...failed, other].map((job) => job.result().catch((error: unknown) => error)));
        await page.goto(`${base}/#/jobs?fn=resize&tag=order:7`);
        await page.getByText('3 of 3 jobs').waitFor();
        await page.getByPlaceholder('Filter').fill('PICTURE: 2');
        await page.getByText('1 job of those read').waitFor();
        await expect(page.locator('tbody tr th').allTextContents()).resolves.toEqual([failed[1]?.id]);
        await button(page, 'Retry all failed').click();
        await confirm(page, /This concerns 2 jobs/, 'Retry them');
        await page.getByText('2 jobs of resize retried').waitFor();
        const retried = async ({ id = '' } = {}) => redis.redis.hget(`job:resize:${id}`, 'retried');
        await expect(retried(failed[0])).resolves.not.toBeNull();
        await expect(retried(other)).resolves.toBeNull();
      },
      TEST_MS,
    );
  });

  inFullTier(() => {
    it(
      'cancels, edits and discards single jobs',
      async () => {
        const { page, client, base } = await open();
        const later = await client.run(mail, { to: 'wrong' }, { delay: '1h' });
        await page.goto(`${base}/#/job?fn=mail&id=${later.id}`);
        await button(page, 'Edit').click();
        await page.getByLabel('Input, as JSON').fill('{"to":"right"}');
        await button(page, 'Change').click();
        await confirm(page, /keeps its id/, 'Change it');
        await expect(later.get()).resolves.toMatchObject({ input: { to: 'right' } });
        await button(page, 'Cancel').click();
        await confirm(page, /is not run/, 'Cancel it');
        await page.locator('h1 + .badge.is-cancelled').waitFor();
        await button(page, 'Discard').click();
        await confirm(page, /can't be taken back/, 'Discard it');
        await page.getByText('no longer kept. This is what it was').waitFor();
        await expect(later.get()).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
      },
      TEST_MS,
    );
  });

  inFullTier(() => {
    it(
      'finds jobs by tag, key and id',
      async () => {
        const { page, client, base } = await open();
        for (const n of [1, 2, 3]) await client.run(mail, { to: `${n}` }, { tags: [`order:${n % 2}`] });
        await client.runMany(report, [{ tenant: 'ada' }, { tenant: 'ben' }]);
        const find = async (fn: string, text: string) => {
          await page.goto(`${base}/#/jobs?fn=${fn}&state=succeeded`);
          await page.getByLabel('Find jobs by id, tag or key').fill(text);
          await button(page, 'Find').click();
        };
        const ids = () => page.locator('.virtual tbody [data-row]').allTextContents();
        await find('mail', 'tag:order:1');
        await eventually(async () => expect((await ids()).toSorted()).toEqual(['1', '3']));
        await find('report', 'key:ben');
        await eventually(async () => expect(await ids()).toEqual(['2']));
        await find('mail', '2');
        await page.getByRole('heading', { level: 1, name: 'mail 2' }).waitFor();
        // The address alone shows the same to a colleague.
        const shared = await browser.open(`${base}/#/jobs?fn=mail&tag=order%3A1`);
        await shared.page.getByRole('link', { name: '3', exact: true }).waitFor();
      },
      TEST_MS,
    );
  });

  inFullTier(() => {
    it(
      'can be used by keyboard alone',
      async () => {
        const { page, client } = await open();
        await client.runMany(mail, [{ to: 'a' }, { to: 'b' }]);
        await page.getByRole('link', { name: 'mail' }).waitFor();
        await page.keyboard.press('j');
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { level: 1, name: 'mail' }).waitFor();
        await page.keyboard.press('?');
        await page.getByRole('dialog').getByText('go to failed jobs').waitFor();
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        await page.goto(`${page.url().split('#')[0]}#/jobs?fn=mail&state=succeeded`);
        await page.getByRole('link', { name: '2', exact: true }).waitFor();
        await page.keyboard.press('/');
        await page.keyboard.type('1');
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { level: 1, name: 'mail 1' }).waitFor();
        await page.locator('main').focus();
        await page.keyboard.press('g');
        await page.keyboard.press('w');
        await page.getByRole('heading', { level: 1, name: 'Workers' }).waitFor();
      },
      TEST_MS,
    );
  });

  inFullTier(() => {
    it(
      'offers nothing to change to who may only look',
      async () => {
        const { page, client, base } = await open('', { readOnly: true });
        await client.run(mail, { to: 'x', fails: true }).then((job) => job.result().catch(() => undefined));
        await page.getByText('read-only').waitFor();
        for (const view of [
          'fn?fn=mail',
          'jobs?fn=mail&state=failed',
          'job?fn=mail&id=1',
          'failures',
          'schedules',
        ]) {
          await page.goto(`${base}/#/${view}`);
          await page.getByRole('heading', { level: 1 }).waitFor();
          await page.locator('.loading').first().waitFor({ state: 'detached' });
          const names = await page.locator('main').getByRole('button').allTextContents();
          expect(names.filter((name) => /retry|cancel|discard|edit|pause|run/i.test(name))).toEqual([]);
        }
      },
      TEST_MS,
    );
  });

  inFullTier(() => {
    it(
      'asks to be reloaded when the app is of another version',
      async () => {
        const { page, base } = await open();
        await page.route('**/api/session', async (route) => {
          const response = await route.fetch();
          await route.fulfill({ response, json: { ...((await response.json()) as object), protocol: 2 } });
        });
        await page.goto(`${base}/?again`);
        await page.getByText('Reload the page').waitFor();
      },
      TEST_MS,
    );
  });

  inFullTier(() => {
    it(
      'asks nothing of the server while it is hidden',
      async () => {
        const { page, app } = await open();
        const streams = new Set<ServerResponse>();
        (app.getHttpServer() as Server).on('request', ({ url = '' }, response) => {
          if (!url.includes('/api/')) return;
          streams.add(response);
          response.on('close', () => streams.delete(response));
        });
        await page.reload();
        await page.locator('.live.is-live').waitFor();
        await eventually(() => expect(streams.size).toBe(1));
        const look = (state: string) =>
          page.evaluate(`Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => '${state}' });
          document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));`);
        await look('hidden');
        await eventually(() => expect(streams.size).toBe(0));
        await page.locator('.live.is-paused').waitFor();
        await look('visible');
        await page.locator('.live.is-live').waitFor();
      },
      TEST_MS,
    );
  });

  inFullTier(() => {
    it(
      'shows the queues of other systems',
      async () => {
        await redis.redis.flushall();
        const { app, base } = await apps.serve('express', {
          imports: [
            GearMonkeyModule.forRoot({
              name: 'old',
              source: qless({ connection: redis.url, queues: ['mail'] }),
            }),
            QlessModule.forRoot({ connection: redis.url }),
            GearMonkeyModule.forRoot({ connection: 'memory:' }),
            DashboardModule.forRoot({ path: '/jobs' }),
          ],
        });
        const client = app.get(QlessClient, { strict: false });
        await client.queue('mail').put('Mail', { to: 'x' });
        await client.queue('mail').put('Mail', { to: 'y' }, { delay: '1h' });
        const { page, misdeeds } = await browser.open(`${base}/#/?i=old`);
        const row = page.getByRole('row').filter({ hasText: 'mail' });
        await row.waitFor();
        const cells = await row.getByRole('cell').allTextContents();
        expect([cells[0], cells[4]]).toEqual(['1', '1']);
        await expect(
          page.getByRole('navigation', { name: 'Views' }).getByRole('link').allTextContents(),
        ).resolves.toEqual(['Overview', 'Tables']);
        await client.queue('mail').put('Mail', { to: 'z' });
        await eventually(async () => expect(await row.getByRole('cell').first().textContent()).toBe('2'));
        expect(misdeeds).toEqual({ errors: [], foreign: [] });
      },
      TEST_MS,
    );
  });

  it('is drawn with less than 100 kB of script', () => {
    const root = new URL('../../dist/dashboard/page/', import.meta.url);
    const index = readFileSync(new URL('index.html', root), 'utf8');
    const scripts = [...index.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.js)"/g)].map(
      ([, file = '']) => file,
    );
    expect(scripts.length).toBeGreaterThan(0);
    const bytes = scripts.reduce((sum, file) => sum + readFileSync(new URL(file, root)).length, 0);
    expect(bytes).toBeLessThan(100_000);
  });
});
