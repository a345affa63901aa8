import type { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { optionalPackage } from '../package/optional-package.js';

type PromClient = typeof import('prom-client');

/** Metrics as Prometheus reads them. */
export interface MetricsText {
  readonly contentType: string;
  readonly text: string;
}

/** A value of a gauge, of one label or of none. */
export interface Reading {
  readonly label?: string;
  readonly value: number;
}

/** Metrics of one program, those of its process among them, by the optional package prom-client. */
export class Prometheus {
  private readonly registry: Registry;

  private constructor(private readonly client: PromClient) {
    this.registry = new client.Registry();
    client.collectDefaultMetrics({ register: this.registry });
  }

  /**
   * @param wanted true where there must be metrics, false where there are to be none
   * @returns undefined where prom-client is not installed
   * @throws MissingPackageError when they are wanted, and it isn't
   */
  static async load(wanted?: boolean): Promise<Prometheus | undefined> {
    const client = await optionalPackage('prom-client', () => import('prom-client'), wanted);
    return client && new Prometheus(client);
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

  /** A gauge that is read at each scrape. */
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
