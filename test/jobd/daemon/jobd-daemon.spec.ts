import { describe, expect, it } from '@jest/globals';
import type { DaemonOptions } from '../../../lib/jobd/daemon/daemon-options.js';
import { JobdDaemon } from '../../../lib/jobd/daemon/jobd-daemon.js';
import { SILENT, sqliteFile } from '../../support/job-rows.js';
import { useJobTables } from '../../support/use-job-tables.js';

describe('JobdDaemon', () => {
  const jobs = useJobTables(sqliteFile);
  const valid: DaemonOptions = {
    database: 'sqlite:/nowhere/jobs.db',
    launcher: '/bin/true',
    targets: new Map([['low', { concurrency: 1 }]]),
  };

  it.each<[Partial<DaemonOptions>, string]>([
    [{ targets: new Map([['low', { concurrency: 0 }]]) }, 'targets.low.concurrency'],
    [{ targets: new Map([['low', { concurrency: 1, timeout: -1 }]]) }, 'targets.low.timeout'],
    [{ targets: new Map([['low', { concurrency: 1, retry: { attempts: 0 } }]]) }, 'retry.attempts'],
    [{ fetchLimit: -1 }, 'fetchLimit'],
    [{ lease: 5 }, 'lease'],
    [{ pollInterval: 0 }, 'pollInterval'],
    [{ drainTimeout: -1 }, 'drainTimeout'],
    [{ orphans: 'forget' as 'fail' }, 'orphans'],
    [{ launcher: ' ' }, 'launcher'],
  ])('refuses %j', (options, named) => {
    expect(() => new JobdDaemon({ ...valid, ...options })).toThrow(named);
  });

  it('does not start without its database', async () => {
    await expect(jobs.daemon(valid)).rejects.toThrow("'/nowhere/jobs.db' can't be opened");
    await expect(jobs.daemon({ ...valid, database: 'nonsense' })).rejects.toThrow('`database` must be a URL');
  });

  it('serves no requests before it has started or after it was stopped', async () => {
    const rows = await jobs.table();
    const daemon = new JobdDaemon(rows.options());
    await expect(daemon.runManual([1])).rejects.toThrow('the daemon is not started');
    expect(daemon.sendSignal(new Map([[1, 0]]))).toEqual(new Map([[1, false]]));
    await daemon.start();
    await daemon.stop();
    await expect(daemon.runManual([1])).rejects.toThrow('the daemon is shutting down');
    daemon.poll();
    await daemon.stop();
  });

  it('refuses a manual request if too many jobs are waited for, and waits for none of its jobs', async () => {
    const rows = await jobs.table();
    const daemon = await jobs.daemon(rows.options());
    const ids = Array.from({ length: 1000 }, (_, index) => index + 1000);
    await expect(daemon.runManual([...ids, 1])).rejects.toMatchObject({
      code: 'REQUEST_REFUSED',
      message: 'too many manual jobs: 0 are waited for, and 1000 may be',
    });
    const { errors } = await daemon.runManual(ids);
    expect(errors.size).toBe(1000);
    expect(daemon.status().jobPromisesCount).toBe(0);
  });

  it('answers with the texts of the protocol', async () => {
    const rows = await jobs.table();
    const daemon = await jobs.daemon(rows.options({ low: 1 }));
    const refused = (message: string) => expect.objectContaining({ code: 'REQUEST_REFUSED', message });
    expect(() => daemon.poll(['zzz'])).toThrow(refused("invalid target 'zzz'"));
    expect(() => daemon.pause(['low', 'zzz'])).toThrow(refused("invalid target 'zzz'"));
    expect(daemon.status().targets['low']?.paused).toBe(false);
    expect(() => daemon.addTarget('low', 1)).toThrow(refused("target 'low' already added"));
    for (const bad of [0, -1, 1.5, Number.NaN, 1e15]) {
      expect(() => daemon.addTarget('new', bad)).toThrow(refused('Invalid concurrency value.'));
      expect(() => daemon.setTargetConcurrency('low', bad)).toThrow(refused('Invalid concurrency value.'));
    }
    expect(() => daemon.setTargetConcurrency('zz', 1)).toThrow(refused("target 'zz' not found"));
    expect(() => daemon.removeTarget('zz')).toThrow(refused("target 'zz' not found"));
    expect(daemon.targets()).toEqual(['low']);
  });

  it('adds targets while it runs, reports them, and keeps those with work', async () => {
    const rows = await jobs.table();
    const id = await rows.add('until [ -e "$dir/go" ]; do sleep 0.05; done', { target: 'new' });
    const daemon = await jobs.daemon(rows.options());
    let changes = 0;
    daemon.onTargetsChanged(() => changes++);
    daemon.addTarget('new', 1);
    await rows.reach('running', [id]);
    expect(() => daemon.removeTarget('new')).toThrow('queue is not empty');
    expect(changes).toBe(1);
    await rows.put('go');
    await rows.reach('done', [id]);
    daemon.removeTarget('new');
    expect(changes).toBe(2);
  });

  it('begins more jobs at once when a target’s concurrency grows', async () => {
    const rows = await jobs.table();
    const ids = await rows.addMany(3, 'until [ -e "$dir/go" ]; do sleep 0.05; done');
    const daemon = await jobs.daemon(rows.options({ low: 1 }));
    await rows.reach('running', ids.slice(0, 1));
    daemon.setTargetConcurrency('low', 3);
    await rows.reach('running', ids);
    await rows.put('go');
  });

  it('polls by itself if configured', async () => {
    const rows = await jobs.table();
    await jobs.daemon({ ...rows.options(), pollInterval: 100 });
    await rows.reach('done', [await rows.add()]);
    await rows.reach('done', [await rows.add()]);
  });

  it('answers a manual request without ids with an empty result', async () => {
    const rows = await jobs.table();
    const daemon = await jobs.daemon(rows.options());
    await expect(daemon.runManual([])).resolves.toEqual({ jobs: new Map(), errors: new Map() });
  });

  it('shortens a drain when it is stopped again', async () => {
    const rows = await jobs.table();
    const id = await rows.add('while :; do sleep 0.05; done');
    const daemon = await jobs.daemon(rows.options());
    await rows.reach('running', [id]);
    const stopped = daemon.stop({ timeout: 3_600_000 });
    await daemon.stop({ timeout: 0 });
    await stopped;
    expect(await rows.row(id)).toMatchObject({ status: 'done', result: 'fail', sig: 'SIGTERM' });
  });

  it('releases jobs that it had to end early, if the policy is to requeue', async () => {
    const rows = await jobs.table();
    const id = await rows.add('while :; do sleep 0.05; done');
    const daemon = await jobs.daemon({ ...rows.options(), orphans: 'requeue' });
    await rows.reach('running', [id]);
    await daemon.stop({ timeout: 0 });
    expect(await rows.row(id)).toMatchObject({ status: 'waiting', result: null });
    expect(await rows.owners()).toEqual([]);
  });

  it('says at the start that it has no targets, and nothing of the kind if it has some', async () => {
    const rows = await jobs.table();
    const said: string[] = [];
    const log = { ...SILENT, warn: (message: string) => void said.push(message) };
    await jobs.daemon({ ...rows.options({ low: 1 }), log });
    expect(said).toEqual([]);
    await jobs.daemon({ ...rows.options({}), log });
    expect(said).toEqual([expect.stringMatching(/^There are no targets: .*\[targets\]/)]);
  });

  it.each([
    ['auto', 'posix_spawn'],
    [false, 'child_process'],
  ] as const)('starts processes as it is told to, and says how: %s', async (posixSpawn, way) => {
    const rows = await jobs.table();
    const said: string[] = [];
    const log = { ...SILENT, info: (message: string) => void said.push(message) };
    const id = await rows.add('echo out');
    await jobs.daemon({ ...rows.options(), posixSpawn, log });
    await rows.reach('done', [id]);
    expect(await rows.row(id)).toMatchObject({ result: 'ok', stdout: 'out\n' });
    expect(said).toContain(`processes are started with ${way}`);
  });
});
