import { describe, expect, it } from '@jest/globals';
import type { DaemonOptions } from '../../../lib/jobd/daemon/daemon-options.js';
import { seedTable } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { furtherInFullTier } from '../../support/tier.js';
import { useJobTables } from '../../support/use-job-tables.js';
import { Program, stopProgramsAfterEach } from '../../support/worker-process.js';

describe('the output of jobs', () => {
  const jobs = useJobTables(() => MariaDbServer.start());
  stopProgramsAfterEach();

  const inProcess = (options: DaemonOptions) =>
    Program.start('test/support/jobd-program.mjs', { ...options, targets: [...options.targets] });

  const ways: [string, (options: DaemonOptions) => Promise<unknown>][] = [
    ['that hears of ends by their output', (options) => jobs.daemon(options)],
    ['that is signalled of ends', inProcess],
  ];
  describe.each(furtherInFullTier(ways.slice(0, 1), ways.slice(1)))('for a daemon %s', (_, start) => {
    it('is in the rows of short jobs that run side by side', async () => {
      const rows = await jobs.table(seedTable);
      const ids = await rows.addMany(100, 'echo "out $id"; echo "err $id" >&2');
      await start(rows.options({ low: 4 }));
      await rows.reach('done', ids);
      for (const row of await rows.all())
        expect(row).toMatchObject({ result: 'ok', stdout: `out ${row.id}\n`, stderr: `err ${row.id}\n` });
    });

    it('is complete if it is more than a pipe holds, with timely output of children', async () => {
      const rows = await jobs.table(seedTable);
      const ids = await rows.addMany(
        10,
        "head -c 200000 /dev/zero | tr '\\0' y; { sleep 0.2; echo late >&2; } &",
      );
      await start(rows.options({ low: 4 }));
      await rows.reach('done', ids);
      for (const row of await rows.all())
        expect(row).toMatchObject({ result: 'ok', stdout: 'y'.repeat(200_000), stderr: 'late\n' });
    });
  });

  it('is cut at the limit, with a note in the row', async () => {
    const rows = await jobs.table(seedTable);
    const id = await rows.add("head -c 20000000 /dev/zero | tr '\\0' x");
    await jobs.daemon({ ...rows.options(), maxOutputBuffer: 100_000 });
    await rows.reach('done', [id]);
    const { stdout } = await rows.row(id);
    expect(stdout?.length).toBeLessThanOrEqual(100_000);
    expect(stdout).toMatch(/^x{99000,}\n\[jobd: \d{8} more bytes of output left out\]\n$/);
  });

  it('is cut if it is more than the server accepts at once', async () => {
    const rows = await jobs.table(seedTable);
    const id = await rows.add("head -c 20000000 /dev/zero | tr '\\0' \"'\"");
    await jobs.daemon({ ...rows.options(), maxOutputBuffer: 40_000_000 });
    await rows.reach('done', [id]);
    expect((await rows.row(id)).stdout?.slice(-100)).toMatch(
      /'{9}\n\[jobd: \d+ more bytes of output left out\]\n$/,
    );
  });

  it('is written without its emoji to a table of utf8mb3', async () => {
    const rows = await jobs.table(seedTable);
    const id = await rows.add('echo "ü € 😀"');
    const other = await rows.add('echo other');
    await jobs.daemon(rows.options());
    await rows.reach('done', [id, other]);
    expect(await rows.row(id)).toMatchObject({ result: 'ok', stdout: 'ü € \uFFFD\n' });
    expect(await rows.row(other)).toMatchObject({ stdout: 'other\n' });
  });

  it('is cut, and in other letters, where the columns hold hardly any', async () => {
    const rows = await jobs.table((name) =>
      seedTable(name).replaceAll('mediumtext', 'varchar(255) CHARACTER SET latin1'),
    );
    const id = await rows.add("echo '😀 ü'; head -c 100000 /dev/zero | tr '\\0' x");
    await jobs.daemon(rows.options());
    await rows.reach('done', [id]);
    expect((await rows.row(id)).stdout).toMatch(/^\? \?\nx+\n\[jobd: \d+ more bytes of output left out\]\n$/);
  });
});
