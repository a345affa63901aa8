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
      'jq_jobs{status="queued"}': 1,
      'jq_jobs{status="running"}': 0,
      'jq_jobs{status="done"}': 1,
      jq_workers: 1,
      jq_redis_up: 1,
      'jq_job_events_total{event="enqueued"}': 2,
      'jq_job_events_total{event="retried"}': 2,
      'jq_job_events_total{event="done"}': 1,
      jq_dispatch_latency_seconds_count: 1,
    };
    for (const [name, value] of Object.entries(figures))
      expect([name, samples.get(name)]).toEqual([name, value]);
    expect(samples.get('process_cpu_seconds_total')).toBeGreaterThan(0);
  });

  it('answers without Redis, and says so', async () => {
    const cutOff = await master.another({ connection: `redis://127.0.0.1:${await freePort()}` });
    const samples = await scrape(cutOff);
    expect([samples.get('jq_redis_up'), samples.get('jq_workers')]).toEqual([0, undefined]);
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
