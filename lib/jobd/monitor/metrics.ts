import { Prometheus } from '../../metrics/prometheus.js';
import type { Monitored } from './measure.js';

/** Upper bounds, in seconds, from moments to hours. */
const RUN_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600];

/** `undefined` if the optional package prom-client is not installed. */
export async function createMetrics({ measures, onRun }: Monitored): Promise<Prometheus | undefined> {
  const metrics = await Prometheus.load();
  if (!metrics) return undefined;
  for (const { name, help, labelName, read } of measures) metrics.reading(name, help, read, labelName);
  if (!onRun) return metrics;
  const labels = ['system', 'fn'] as const;
  const finished = metrics.counter(
    'gearmonkey_jobs_finished_total',
    'Rows that ended, by target and outcome: succeeded or failed',
    [...labels, 'outcome'],
  );
  const retries = metrics.counter(
    'gearmonkey_retries_total',
    'Runs that failed and are tried again, by target',
    labels,
  );
  const lost = metrics.counter(
    'gearmonkey_leases_lost_total',
    'Runs whose row was changed, deleted or taken by another daemon, by target',
    labels,
  );
  const seconds = metrics.histogram('gearmonkey_job_run_seconds', 'How long runs took, by target', {
    buckets: RUN_BUCKETS,
    labelNames: labels,
  });
  onRun(({ target, outcome, duration }) => {
    const of = { system: 'jobd', fn: target };
    if (outcome === 'retry') retries.inc(of);
    else if (outcome === 'lost') lost.inc(of);
    else finished.inc({ ...of, outcome: outcome === 'ok' ? 'succeeded' : 'failed' });
    seconds.observe(of, duration / 1000);
  });
  return metrics;
}
