import { Gauge, type Registry } from 'prom-client';
import type { QueueOverview } from '../job/job-views.js';
import type { GearMonkeyInstance } from '../nest/gearmonkey.instance.js';
import type { InstanceRegistry } from '../nest/instance.registry.js';
import { overviewsOf, waitingOf } from '../nest/queue-overviews.js';
import type { FunctionLabels } from './function-labels.js';

/** A server that doesn't answer must not keep a scrape waiting. */
const TIMEOUT_MS = 2000;

type Seen = ReadonlyMap<GearMonkeyInstance, readonly QueueOverview[] | undefined>;

/** Gauges of the queues of an app's instances. Each scrape asks each server once. */
export class QueueMetrics {
  private readonly apps = new Map<InstanceRegistry, number>();
  private readonly gauges: Gauge[];
  private reading: Promise<Seen> | undefined;

  constructor(
    private readonly registry: Registry,
    private readonly labels: FunctionLabels,
  ) {
    this.gauges = [
      this.gauge('gearmonkey_jobs', 'Jobs by state.', ['system', 'fn', 'state'], setJobs),
      this.gauge(
        'gearmonkey_queue_latency_seconds',
        'The age of the oldest waiting job.',
        ['system', 'fn'],
        setLatency,
      ),
      this.gauge('gearmonkey_workers', 'Workers of a function.', ['system', 'fn'], setWorkers),
      this.gauge(
        'gearmonkey_connected',
        'Whether an instance is connected to its server.',
        ['name'],
        setConnected,
      ),
    ];
  }

  get isUnused(): boolean {
    return this.apps.size === 0;
  }

  add(app: InstanceRegistry): void {
    this.apps.set(app, (this.apps.get(app) ?? 0) + 1);
  }

  remove(app: InstanceRegistry): void {
    const left = (this.apps.get(app) ?? 1) - 1;
    if (left > 0) this.apps.set(app, left);
    else this.apps.delete(app);
  }

  close(): void {
    for (const gauge of this.gauges)
      this.registry.removeSingleMetric((gauge as unknown as { name: string }).name);
  }

  private gauge(
    name: string,
    help: string,
    labelNames: string[],
    set: (gauge: Gauge, seen: Seen, labels: FunctionLabels) => void,
  ): Gauge {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect: async () => {
        const seen = await this.read();
        gauge.reset();
        set(gauge, seen, this.labels);
      },
    });
    return gauge;
  }

  /** One scrape begins to collect all gauges at once, so they share what is read. */
  private read(): Promise<Seen> {
    return (this.reading ??= this.ask().finally(() => (this.reading = undefined)));
  }

  private async ask(): Promise<Seen> {
    const instances = [...this.apps.keys()].flatMap((app) => app.all());
    const answers = instances.map(
      async (instance) => [instance, await overviewsOf(instance, TIMEOUT_MS).catch(() => undefined)] as const,
    );
    return new Map(await Promise.all(answers));
  }
}

function setJobs(gauge: Gauge, seen: Seen, labels: FunctionLabels): void {
  eachFunction(seen, (system, overview) => {
    const { fn, scheduled, retrying, running, succeeded, failed, cancelled } = overview;
    const states = {
      waiting: waitingOf(overview),
      ...{ scheduled, retrying, running, succeeded, failed, cancelled },
    };
    for (const [state, count] of Object.entries(states))
      if (count !== undefined) gauge.inc({ system, fn: labels.of(fn), state }, count);
  });
}

function setLatency(gauge: Gauge, seen: Seen, labels: FunctionLabels): void {
  const oldest = new Map<string, { labels: { system: string; fn: string }; age: number }>();
  eachFunction(seen, (system, overview) => {
    const fn = labels.of(overview.fn);
    // Of a queue whose age is not known there is no latency.
    if (!overview.oldest && waitingOf(overview) > 0) return;
    const age = overview.oldest ? Math.max(0, Date.now() - overview.oldest.getTime()) : 0;
    const key = `${system} ${fn}`;
    if (age >= (oldest.get(key)?.age ?? 0)) oldest.set(key, { labels: { system, fn }, age });
  });
  for (const { labels: of, age } of oldest.values()) gauge.set(of, age / 1000);
}

function setWorkers(gauge: Gauge, seen: Seen, labels: FunctionLabels): void {
  eachFunction(seen, (system, { fn, workers }) => {
    if (workers !== undefined) gauge.inc({ system, fn: labels.of(fn) }, workers);
  });
}

/** Of several apps of a process an instance of each may have the same name: one that is not connected is not hidden by another. */
function setConnected(gauge: Gauge, seen: Seen): void {
  const connected = new Map<string, boolean>();
  for (const { name, source } of seen.keys())
    connected.set(name, (connected.get(name) ?? true) && (source.monitor?.health().connected ?? true));
  for (const [name, is] of connected) gauge.set({ name }, is ? 1 : 0);
}

function eachFunction(seen: Seen, set: (system: string, overview: QueueOverview) => void): void {
  for (const [{ source }, overviews] of seen)
    for (const overview of overviews ?? []) set(source.system ?? 'other', overview);
}
