import { describe, expect, it } from '@jest/globals';
import type { JobSource } from '../../../lib/job/job-source.js';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import type { Registrations } from '../../../lib/jq/worker/registrations.js';
import { runWorker, stopWorkersAfterEach } from '../../support/run-worker.js';
import { until } from '../../support/until.js';
import { scriptedMaster, stopScriptedMastersAfterEach } from './scripted-master.js';

describe('the question whether a job is still of this worker', () => {
  stopWorkersAfterEach();
  stopScriptedMastersAfterEach();

  it('is not answered by a 409 without a code', async () => {
    const master = await scriptedMaster();
    master.confirms = 409;
    const source: JobSource = jq({ master: master.url, listen: { port: 0 } });
    const { registrations } = source as JobSource & { readonly registrations: Registrations };
    await runWorker(source, 'mail', () => undefined);
    const registration = await until(() => registrations['all'][0]);
    await expect(registration.confirm('j1', 1)).rejects.toMatchObject({ status: 409 });
    master.confirmCode = 'REPORT_REFUSED';
    await expect(registration.confirm('j1', 1)).resolves.toBe(false);
  });
});

describe('a ping', () => {
  stopWorkersAfterEach();
  stopScriptedMastersAfterEach();

  it('follows a registration: a worker that has not pinged is not lost by its silence', async () => {
    const master = await scriptedMaster();
    await runWorker(
      jq({ master: master.url, listen: { port: 0 }, pingInterval: '1h' }),
      'mail',
      () => undefined,
    );
    await until(() => master.pings.came === 1);
  });

  it('is repeated until the master answers, one at a time', async () => {
    const master = await scriptedMaster();
    const source: JobSource = jq({ master: master.url, listen: { port: 0 }, pingInterval: '1h' });
    const { registrations } = source as JobSource & { readonly registrations: Registrations };
    await runWorker(source, 'mail', () => undefined);
    const registration = await until(() => registrations['all'][0]);
    await registration.ready();
    await until(() => master.pings.came === 1 && !registration['isPinging']);
    master.pings.refused = 2;
    await Promise.all([registration.ping(), registration.ping()]);
    expect(master.pings.came).toBe(4);
  });

  it('without an answer is repeated after its interval: it keeps no others back', async () => {
    const master = await scriptedMaster();
    master.pings = { refused: Infinity, status: 0, code: '', came: 0 };
    await runWorker(jq({ master: master.url, pingInterval: '300ms' }), 'mail', () => undefined);
    await until(() => master.pings.came === 4);
  });

  it('that is refused for its token does not count as heard', async () => {
    const master = await scriptedMaster();
    master.pings = { refused: Infinity, status: 403, code: 'FORBIDDEN', came: 0 };
    const source: JobSource = jq({ master: master.url, listen: { port: 0 }, pingInterval: '1h' });
    const { registrations } = source as JobSource & { readonly registrations: Registrations };
    await runWorker(source, 'mail', () => undefined);
    const registration = await until(() => registrations['all'][0]);
    await until(() => master.pings.came === 1 && !registration['isPinging']);
    const { heardAt } = registration;
    await registration.ping();
    expect([master.pings.came, registration.heardAt]).toEqual([2, heardAt]);
  });
});
