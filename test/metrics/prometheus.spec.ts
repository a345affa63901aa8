import { describe, expect, it } from '@jest/globals';
import { Prometheus } from '../../lib/metrics/prometheus.js';

describe('Prometheus', () => {
  it('has counters, gauges that are read at each scrape, and metrics of the process', async () => {
    const metrics = await Prometheus.load(true);
    const runs = metrics?.counter('runs_total', 'Runs.', ['outcome']);
    let length = 1;
    metrics?.reading('queue_length', 'Jobs.', () => [{ label: 'low', value: length }], 'queue');
    metrics?.reading('up', 'Whether it is up.', () => [{ value: 1 }]);
    metrics?.histogram('run_seconds', 'Times.', { buckets: [1] }).observe(0.5);
    runs?.inc({ outcome: 'ok' }, 2);
    length = 3;
    const { contentType, text = '' } = (await metrics?.text()) ?? {};
    expect(contentType).toMatch(/^text\/plain/);
    expect(text.split('\n')).toEqual(
      expect.arrayContaining([
        'runs_total{outcome="ok"} 2',
        'queue_length{queue="low"} 3',
        'up 1',
        'run_seconds_bucket{le="1"} 1',
      ]),
    );
    expect(text).toContain('process_cpu_seconds_total');
  });

  it('drops labels that are no longer read', async () => {
    const metrics = await Prometheus.load();
    let queues = ['a', 'b'];
    metrics?.reading('length', 'Jobs.', () => queues.map((label) => ({ label, value: 1 })), 'queue');
    await metrics?.text();
    queues = ['b'];
    expect((await metrics?.text())?.text).not.toContain('queue="a"');
  });

  it('loads nothing without metrics', async () => {
    await expect(Prometheus.load(false)).resolves.toBeUndefined();
  });
});
