import { describe, expect, it } from '@jest/globals';
import { freePort } from '../../support/free-port.js';
import { eventually } from '../../support/until.js';
import { accept, plainWorker, stopPlainWorkersAfterEach } from './plain-worker.js';
import { useMaster } from './use-master.js';

describe('GET /metrics', () => {
  const master = useMaster({ backoff: 1, backoffCap: 1 });
  stopPlainWorkersAfterEach();

  /** The samples by their names and labels. */
  const scrape = async (http: Pick<typeof master, 'call'> = master) => {
    const { status, bytes } = await http.call('GET', '/metrics');
    expect(status).toBe(200);
    const lines = bytes
      .toString()
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    return new Map(
      lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
    );
  };

  it('counts jobs by state, what they came to, waits, pushes and retries', async () => {
    const worker = await plainWorker((push, response) => {
      accept(push, response);
      const failure = { type: 'failure', reason: 'other', should_retry: true, message: 'again' };
      const report = push.attempt < 3 ? failure : { type: 'success' };
      void master.post('/done', { job_id: push.id, attempt: push.attempt, ...report }, { worker: id });
    });
    const id = await master.register({ url: worker.url, names: ['mail'] });
    const job = await master.enqueue();
    await master.enqueue({ name: 'nobody’s' });
    await master.call('GET', `/job/${job}/polling?timeout=60`);
    await eventually(async () =>
      expect((await scrape()).get('jq_push_duration_seconds_count{outcome="accepted"}')).toBe(3),
    );
    const samples = await scrape();
    const figures = {
      'gearmonkey_jobs{system="jq",state="waiting"}': 1,
      'gearmonkey_jobs{system="jq",state="running"}': 0,
      'gearmonkey_jobs{system="jq",state="succeeded"}': 1,
      'gearmonkey_workers{system="jq"}': 1,
      'gearmonkey_connected{name="redis"}': 1,
      'gearmonkey_jobs_enqueued_total{system="jq"}': 2,
      'gearmonkey_retries_total{system="jq"}': 2,
      'gearmonkey_jobs_finished_total{system="jq",outcome="succeeded"}': 1,
      'gearmonkey_job_wait_seconds_count{system="jq"}': 1,
    };
    for (const [name, value] of Object.entries(figures))
      expect([name, samples.get(name)]).toEqual([name, value]);
    expect(samples.get('process_cpu_seconds_total')).toBeGreaterThan(0);
  });

  it('answers without Redis, and says so', async () => {
    const cutOff = await master.another({ connection: `redis://127.0.0.1:${await freePort()}` });
    const samples = await scrape(cutOff);
    const read = ['gearmonkey_connected{name="redis"}', 'gearmonkey_workers{system="jq"}'];
    expect(read.map((name) => samples.get(name))).toEqual([0, undefined]);
  });

  it('is off when the option says so, and has a role of its own', async () => {
    const off = await master.another({ metrics: false });
    await expect(off.call('GET', '/metrics')).resolves.toMatchObject({ status: 404 });
    const guarded = await master.another({ tokens: { metrics: ['m'] } });
    const headers = { authorization: 'Bearer m' };
    await expect(guarded.call('GET', '/metrics')).resolves.toMatchObject({ status: 401 });
    await expect(guarded.call('GET', '/metrics', { headers })).resolves.toMatchObject({ status: 200 });
    await expect(guarded.call('GET', '/api/counts', { headers })).resolves.toMatchObject({ status: 403 });
  });
});
