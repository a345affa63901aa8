import { describe, expect, it } from '@jest/globals';
import { seedTable } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { useJobTables } from '../../support/use-job-tables.js';

const HOLD = 'echo $id >> "$dir/history"; until [ -e "$dir/go" ]; do sleep 0.05; done; echo end';

describe('a daemon', () => {
  const jobs = useJobTables(() => MariaDbServer.start());

  it('refuses to run a row by hand that another client waits for, and serves the first', async () => {
    const rows = await jobs.table(seedTable);
    const id = await rows.add(HOLD, { status: 'manual' });
    const daemon = await jobs.daemon(rows.options());
    const first = daemon.runManual([id]);
    const refusal = `another client is already waiting for job ${id}`;
    await expect(daemon.runManual([id + 1, id])).rejects.toThrow(refusal);
    expect(daemon.status().jobPromisesCount).toBe(1);
    await rows.put('go');
    expect((await first).jobs.get(id)).toMatchObject({ result: 'ok' });
  });

  it('begins a row that becomes due although another target of its poll was polled again', async () => {
    const rows = await jobs.table();
    const soon = Math.floor(Date.now() / 1000) + 2;
    const daemon = await jobs.daemon(rows.options({ a: 1, b: 1 }));
    const id = await rows.add('', { target: 'b', time_scheduled: soon });
    daemon.poll();
    daemon.poll(['a']);
    await rows.reach('done', [id]);
  });

  it('that is paused runs no polled row until it continues', async () => {
    const rows = await jobs.table(seedTable);
    const first = await rows.add();
    const daemon = await jobs.daemon(rows.options({ low: 1, high: 1 }));
    // The poll of the start is over then.
    await rows.reach('done', [first]);
    daemon.pause(['low']);
    const [id = 0, other = 0] = [await rows.add(), await rows.add('', { target: 'high' })];
    daemon.poll();
    await rows.reach('done', [other]);
    expect(await rows.row(id)).toMatchObject({ status: 'waiting' });
    expect(daemon.status().targets).toMatchObject({ low: { paused: true }, high: { paused: false } });
    daemon.continue(['low']);
    await rows.reach('done', [id]);
  });

  it('that is paused keeps rows that it has accepted', async () => {
    const rows = await jobs.table(seedTable);
    const [first = 0, second = 0] = await rows.addMany(2, HOLD);
    const daemon = await jobs.daemon(rows.options({ low: 1 }));
    await rows.reach('running', [first]);
    daemon.pause();
    daemon.poll();
    await rows.put('go');
    await rows.reach('done', [first]);
    expect(await rows.row(second)).toMatchObject({ status: 'accepted' });
    daemon.continue();
    await rows.reach('done', [second]);
  });

  it('accepts targets named like properties of every object', async () => {
    const rows = await jobs.table(seedTable);
    const ids = [await rows.add('', { target: 'constructor' }), await rows.add('', { target: '__proto__' })];
    const daemon = await jobs.daemon(rows.options({ constructor: 1 }));
    daemon.addTarget('__proto__', 1);
    daemon.pause(['constructor']);
    daemon.continue(['constructor']);
    await rows.reach('done', ids);
    expect(Object.keys(daemon.status().targets)).toEqual(['constructor', '__proto__']);
    expect(() => daemon.addTarget('constructor', 1)).toThrow("target 'constructor' already added");
    daemon.removeTarget('constructor');
    expect(daemon.targets()).toEqual(['__proto__']);
  });
});
