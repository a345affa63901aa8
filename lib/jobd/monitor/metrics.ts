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
  const runs = metrics.counter(
    'jobd_runs_total',
    'Runs of jobs that have ended, by target and outcome: ok, fail, retry, lost',
    ['target', 'outcome'],
  );
  const seconds = metrics.histogram('jobd_run_seconds', 'How long runs took, by target', {
    buckets: RUN_BUCKETS,
    labelNames: ['target'],
  });
  onRun(({ target, outcome, duration }) => {
    runs.inc({ target, outcome });
    seconds.observe({ target }, duration / 1000);
  });
  return metrics;
}
