import type { Counter, Histogram, Registry } from 'prom-client';
import { optionalPackage } from '../../package/optional-package.js';
import type { Monitored } from './measure.js';

/** Metrics as Prometheus reads them. */
export interface Metrics {
  readonly contentType: string;
  render(): Promise<string>;
}

/** Upper bounds, in seconds: jobs take moments or hours. */
const RUN_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600];

/** `undefined` where the optional package prom-client is not installed. */
export async function createMetrics({ measures, onRun }: Monitored): Promise<Metrics | undefined> {
  const prometheus = await optionalPackage('prom-client', () => import('prom-client'));
  if (!prometheus) return undefined;
  const registry = new prometheus.Registry();
  prometheus.collectDefaultMetrics({ register: registry });
  for (const { name, help, labelName, read } of measures) {
    const gauge = new prometheus.Gauge({
      name,
      help,
      labelNames: labelName ? [labelName] : [],
      registers: [registry],
      collect: () => {
        gauge.reset();
        for (const { label, value } of read()) {
          gauge.set(labelName && label !== undefined ? { [labelName]: label } : {}, value);
        }
      },
    });
  }
  if (onRun) {
    const { runs, seconds } = runMetrics(prometheus, registry);
    onRun(({ target, outcome, ...run }) => {
      runs.inc({ target, outcome });
      seconds.observe({ target }, run.duration / 1000);
    });
  }
  return { contentType: registry.contentType, render: () => registry.metrics() };
}

function runMetrics(
  { Counter, Histogram }: typeof import('prom-client'),
  registry: Registry,
): { runs: Counter<'target' | 'outcome'>; seconds: Histogram<'target'> } {
  const runs = new Counter({
    name: 'jobd_runs_total',
    help: 'Runs of jobs that have ended, by target and outcome: ok, fail, retry, lost',
    labelNames: ['target', 'outcome'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'jobd_run_seconds',
    help: 'How long runs took, by target',
    labelNames: ['target'],
    buckets: RUN_BUCKETS,
    registers: [registry],
  });
  return { runs, seconds };
}
