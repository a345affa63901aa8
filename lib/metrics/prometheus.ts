import type { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { doWithout } from '../package/optional-package.js';

type PromClient = typeof import('prom-client');

/** Metrics in the text format of Prometheus. */
export interface MetricsText {
  readonly contentType: string;
  readonly text: string;
}

/** A value of a gauge, with one label or none. */
export interface Reading {
  readonly label?: string;
  readonly value: number;
}

/** Metrics of one program and its process, made with the optional package prom-client. */
export class Prometheus {
  private readonly registry: Registry;

  private constructor(private readonly client: PromClient) {
    this.registry = new client.Registry();
    client.collectDefaultMetrics({ register: this.registry });
  }

  /**
   * @param wanted true if metrics are required, false to have none
   * @returns undefined if prom-client is not installed
   * @throws MissingPackageError if metrics are required and prom-client is not installed
   */
  static async load(wanted?: boolean): Promise<Prometheus | undefined> {
    if (wanted === false) return undefined;
    try {
      return new Prometheus(await import('prom-client'));
    } catch (error) {
      return doWithout('prom-client', error, wanted);
    }
  }

  counter<L extends string>(name: string, help: string, labelNames: readonly L[] = []): Counter<L> {
    return new this.client.Counter({ name, help, labelNames, registers: [this.registry] });
  }

  histogram<L extends string>(
    name: string,
    help: string,
    { buckets, labelNames = [] }: { readonly buckets: readonly number[]; readonly labelNames?: readonly L[] },
  ): Histogram<L> {
    const registers = [this.registry];
    return new this.client.Histogram({ name, help, labelNames, buckets: [...buckets], registers });
  }

  gauge<L extends string>(name: string, help: string, labelNames: readonly L[] = []): Gauge<L> {
    return new this.client.Gauge({ name, help, labelNames, registers: [this.registry] });
  }

  /** Adds a gauge whose value is read at each scrape. */
  reading(name: string, help: string, read: () => Iterable<Reading>, labelName?: string): void {
    const gauge: Gauge = new this.client.Gauge({
      name,
      help,
      labelNames: labelName === undefined ? [] : [labelName],
      registers: [this.registry],
      collect: () => {
        gauge.reset();
        for (const { label, value } of read())
          gauge.set(labelName !== undefined && label !== undefined ? { [labelName]: label } : {}, value);
      },
    });
  }

  async text(): Promise<MetricsText> {
    return { contentType: this.registry.contentType, text: await this.registry.metrics() };
  }
}
