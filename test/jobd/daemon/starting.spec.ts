import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { sqliteFile } from '../../support/job-rows.js';
import { runProgram } from '../../support/test-process.js';
import { useJobTables } from '../../support/use-job-tables.js';
import { Program, stopProgramsAfterEach } from '../../support/worker-process.js';

describe('a daemon whose jobs can not be started', () => {
  const jobs = useJobTables(sqliteFile);
  stopProgramsAfterEach();

  it('fails jobs whose directory can not be read, and continues', async () => {
    const rows = await jobs.table();
    const [id = 0, manual = 0] = [await rows.add(), await rows.add('', { status: 'manual' })];
    await writeFile(join(rows.folder, 'file'), '');
    const cwd = join(rows.folder, 'file', 'below');
    const daemon = await jobs.daemon({ ...rows.options(), cwd });
    await rows.reach('done', [id]);
    expect(await rows.row(id)).toMatchObject({ result: 'fail', stderr: expect.stringContaining('ENOTDIR') });
    expect((await daemon.runManual([manual])).jobs.get(manual)).toMatchObject({ result: 'fail' });
  });

  it('starts them when it has descriptors again, and fails none', async () => {
    const rows = await jobs.table();
    const { targets, ...options } = rows.options({ low: 40 });
    const daemon = await Program.start('test/support/jobd-program.mjs', {
      ...options,
      targets: [...targets],
    });
    const open = (await readdir(`/proc/${daemon.pid}/fd`)).length;
    const script = 'sleep 0.2; echo $id >> "$dir/history"';
    // Before there are rows: the poll of its start may still be under way.
    for (let id = 1; id <= 40; id++) await rows.script(id, script);
    const ids = await rows.addMany(40, script);
    await runProgram('prlimit', [`--pid=${daemon.pid}`, `--nofile=${open + 15}:`]);
    daemon.tell('poll');
    await rows.reach('done', ids);
    expect((await rows.all()).filter(({ result }) => result !== 'ok')).toEqual([]);
    expect((await rows.history()).sort((one, other) => one - other)).toEqual(ids);
  });

  it('ignores impossible timeouts of rows, and applies those longer than a timer', async () => {
    const rows = await jobs.table();
    const added: number[] = [];
    for (const timeout of [-5, 0, 2_592_000, 2_147_483_647])
      added.push(await rows.add('echo end', { timeout }));
    await jobs.daemon(rows.options());
    await rows.reach('done', added);
    for (const row of await rows.all()) expect(row).toMatchObject({ result: 'ok', stdout: 'end\n' });
  });
});
