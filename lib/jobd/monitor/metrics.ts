import type { Measure } from './measure.js';

/** Metrics as Prometheus reads them. */
export interface Metrics {
  readonly contentType: string;
  render(): Promise<string>;
}

/** `undefined` where the optional package prom-client is not installed. */
export async function createMetrics(measures: readonly Measure[]): Promise<Metrics | undefined> {
  const prometheus = await import('prom-client').catch(() => undefined);
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
  return { contentType: registry.contentType, render: () => registry.metrics() };
}
