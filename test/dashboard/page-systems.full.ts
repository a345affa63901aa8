import { describe, expect, it } from '@jest/globals';
import { problemsOf, useBrowser } from './browser.js';
import { FAILING, JOBS, SYSTEMS, useSystems } from './use-systems.js';

const TEST_MS = 120_000;

describe('the page shows', () => {
  const browser = useBrowser();
  const { serve } = useSystems();

  it.each(SYSTEMS)(
    'a job of %s that is run, fails, and is retried by its group to its end',
    async (name) => {
      const { base, fn, mend } = await serve(name);
      const { page, misdeeds } = await browser.open(`${base}/#/native`);
      const { jobs, failed, ends } = JOBS[name];
      const table = (view: string) =>
        page
          .getByRole('navigation', { name: 'Table' })
          .getByRole('link', { name: view, exact: true })
          .click();
      const row = page.getByRole('row').filter({ hasText: fn });

      await page.getByRole('textbox').first().fill(fn);
      await page.getByLabel(/, as JSON/).fill(JSON.stringify(FAILING[name]));
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await page.getByText(`of ${fn} is enqueued`).waitFor();
      await table(jobs);
      await row.getByText(ends[0], { exact: true }).waitFor();
      await row.getByRole('link').click();
      await page.getByText('no disk p4111').first().waitFor();
      await expect(problemsOf(page)).resolves.toEqual([]);

      mend();
      await table(failed);
      await row.getByRole('button', { name: 'Retry' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Retry', exact: true }).click();
      await dialog.waitFor({ state: 'detached' });
      await table(jobs);
      await row.getByText(ends[1], { exact: true }).waitFor();
      await page.emulateMedia({ colorScheme: 'dark' });
      await expect(problemsOf(page)).resolves.toEqual([]);
      expect(misdeeds).toEqual({ errors: [], foreign: [] });
    },
    TEST_MS,
  );
});
