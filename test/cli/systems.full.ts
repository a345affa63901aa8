import { afterEach, describe, expect, it } from '@jest/globals';
import { JobdModule, JobdClient } from '../../lib/jobd/index.js';
import { JqClient } from '../../lib/jq/client/jq-client.js';
import { QlessClient } from '../../lib/qless/client/qless-client.js';
import { useMaster } from '../jq/master/use-master.js';
import { sqliteFile } from '../support/job-rows.js';
import { killProcesses } from '../support/test-process.js';
import { useApps } from '../support/use-apps.js';
import { useJobTables } from '../support/use-job-tables.js';
import { useRedis } from '../support/use-redis.js';
import { runGearMonkey, valuesOf } from './gearmonkey-process.js';
import { useTerminal } from './terminal.js';

describe('gearmonkey overview of the other systems', () => {
  const redis = useRedis();
  const master = useMaster();
  const tables = useJobTables(sqliteFile);
  const apps = useApps();
  const terminals = useTerminal();
  afterEach(killProcesses);

  it('shows the queues of qless, once and on a live screen', async () => {
    const client = new QlessClient({ connection: redis.url, prefix: 'own:' });
    await client.queue('mail').put('Mail', {});
    client.close();
    const environment = { REDIS_URL: redis.url };
    const found = await runGearMonkey(['overview', '--qless', 'own:', '--json'], { environment });
    expect(valuesOf(found)).toMatchObject([
      [{ fn: 'mail', waiting: { normal: 1 }, running: 0, scheduled: 0 }],
    ]);
    const none = await runGearMonkey(['overview', '--qless', '--json'], { environment });
    expect(valuesOf(none)).toEqual([[]]);
    const terminal = await terminals.open();
    await terminal.start(['top', '--qless', 'own:', '--redis', redis.url]);
    await terminal.shows(/gearmonkey top   qless 127\.0\.0\.1:\d+ .*\n[^]*^mail +\| 1 /m);
    await terminal.keys('q');
    await terminal.shows(/exit 0/);
  });

  it('shows the names of a JQ master, without a Redis', async () => {
    const client = new JqClient({ master: master.url });
    await client.enqueue('resize', {});
    await client.close();
    const environment = { JQ_MASTER: master.url, REDIS_URL: 'redis://127.0.0.1:1' };
    const { stdout, code } = await runGearMonkey(['overview', '--jq'], { environment });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^resize +\| 1 /m)]);
  });

  it('says which token a JQ master needs', async () => {
    const guarded = await master.another({ tokens: { admin: ['a'], worker: ['w'] } });
    const args = ['overview', '--jq', guarded.master.url];
    await expect(runGearMonkey(args, { environment: { JQ_TOKEN: 'a' } })).resolves.toMatchObject({ code: 0 });
    const refused = await runGearMonkey(args, { environment: { JQ_TOKEN: 'w' } });
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('403') });
  });

  it('shows the targets of jobd', async () => {
    const { url: database, table } = await tables.table();
    const app = await apps.start({ imports: [JobdModule.forRoot({ database, table })] });
    await app.get(JobdClient).add('low');
    await app.get(JobdClient).add('low', { status: 'manual' });
    const url = typeof database === 'string' ? database : '';
    const found = await runGearMonkey(['overview', '--jobd', url, '--table', table, '--json'], {});
    expect(valuesOf(found)).toMatchObject([
      [{ fn: 'low', waiting: { normal: 1 }, scheduled: 1, running: 0, oldest: expect.any(String) }],
    ]);
  });

  it.each([
    [['overview', '--qless', '--jq', 'http://127.0.0.1:1'], 'Choose one of'],
    [['overview', '--jq'], 'JQ_MASTER'],
    [['overview', '--jobd'], 'JOBD_DATABASE'],
    [['overview', '--jobd', 'nonsense'], 'database'],
  ])('refuses %p', async (args, reason) => {
    await expect(runGearMonkey(args, {})).resolves.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(reason),
    });
  });
});
