import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable, type DynamicModule } from '@nestjs/common';
import { SpanKind, trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { Registry } from 'prom-client';
import { GearMonkeyModule, Worker, type JobSource, type QueueOverview } from 'nestjs-gearmonkey';
import { GearMonkeyHealthIndicator, GearMonkeyHealthModule } from 'nestjs-gearmonkey/health';
import { jobd, JobdClient, JobdModule } from 'nestjs-gearmonkey/jobd';
import { jq, JqClient, JqModule } from 'nestjs-gearmonkey/jq';
import { GearMonkeyMetrics, GearMonkeyMetricsModule } from 'nestjs-gearmonkey/metrics';
import { qless, QlessClient, QlessModule } from 'nestjs-gearmonkey/qless';
import { GearMonkeyTracingModule } from 'nestjs-gearmonkey/tracing';
import { useMaster } from '../jq/master/use-master.js';
import { gate } from '../support/gate.js';
import { sqliteFile } from '../support/job-rows.js';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useJobTables } from '../support/use-job-tables.js';
import { useRedis } from '../support/use-redis.js';

/** A system with an app that runs one job of `FN` at a time, and what its queue is called. */
interface System {
  readonly source: JobSource;
  readonly module: DynamicModule;
  /** The class of its client, which enqueues a job. */
  readonly client: new (...args: never[]) => { overview(): Promise<QueueOverview[]> };
  readonly enqueue: (client: never) => Promise<unknown>;
  /** Whether it counts running jobs by name, and knows when the oldest was enqueued. */
  readonly knows: { readonly running: boolean; readonly oldest: boolean };
}

const FN = 'work';

describe('overview, metrics, traces and health', () => {
  const redis = useRedis();
  const master = useMaster();
  const tables = useJobTables(sqliteFile);
  const apps = useApps();
  const gates: { open(): void }[] = [];
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  beforeAll(() => void trace.setGlobalTracerProvider(provider));
  afterAll(async () => {
    trace.disable();
    await provider.shutdown();
  });
  afterEach(() => exporter.reset());
  afterEach(() => gates.splice(0).forEach((held) => held.open()));

  const systems = {
    qless: async (): Promise<System> => ({
      source: qless({ connection: redis.url, queues: [FN] }),
      module: QlessModule.forRoot({ connection: redis.url }),
      client: QlessClient,
      enqueue: (client: QlessClient) => client.queue(FN).put(FN, {}),
      knows: { running: true, oldest: true },
    }),
    jq: async (): Promise<System> => ({
      source: jq({ master: master.url }),
      module: JqModule.forRoot({ master: master.url }),
      client: JqClient,
      enqueue: (client: JqClient) => client.enqueue(FN, {}),
      knows: { running: false, oldest: false },
    }),
    jobd: async (): Promise<System> => {
      const { url: database, table } = await tables.table();
      return {
        source: jobd({ database, table, targets: [FN], pollInterval: 100 }),
        module: JobdModule.forRoot({ database, table }),
        client: JobdClient,
        enqueue: (client: JobdClient) => client.add(FN),
        knows: { running: true, oldest: true },
      };
    },
  };

  async function start(name: keyof typeof systems) {
    const { source, module, client: type, enqueue, knows } = await systems[name]();
    const held = gate();
    gates.push(held);

    @Injectable()
    class Handlers {
      @Worker(FN)
      async work() {
        await held.passed;
        return {};
      }
    }

    const app = await apps.start({
      imports: [
        GearMonkeyModule.forRoot({ source }),
        module,
        GearMonkeyMetricsModule.forRoot({ registry: new Registry() }),
        GearMonkeyHealthModule,
        GearMonkeyTracingModule.forRoot(),
      ],
      providers: [Handlers],
    });
    const client = app.get(type, { strict: false });
    return { app, client, knows, enqueue: () => enqueue(client as never), open: () => held.open() };
  }

  it.each(Object.keys(systems) as (keyof typeof systems)[])('of %s have the same form', async (name) => {
    const { app, client, knows, enqueue, open } = await start(name);
    for (let jobs = 0; jobs < 3; jobs++) await enqueue();
    const queue = async () => (await client.overview()).find(({ fn }) => fn === FN);
    await eventually(async () => {
      const found = await queue();
      expect(found).toMatchObject({ fn: FN, waiting: { high: 0, normal: 2, low: 0 } });
      if (knows.running) expect(found?.running).toBe(1);
      expect(found?.oldest instanceof Date).toBe(knows.oldest);
    });
    const metrics = app.get(GearMonkeyMetrics, { strict: false });
    const lines = async () => (await metrics.read()).text.split('\n');
    expect(await lines()).toContain(`gearmonkey_jobs{system="${name}",fn="${FN}",state="waiting"} 2`);
    const ages = (await lines()).filter((line) => line.startsWith('gearmonkey_queue_latency_seconds{'));
    expect(ages).toHaveLength(knows.oldest ? 1 : 0);
    const health = app.get(GearMonkeyHealthIndicator, { strict: false });
    await expect(health.check('jobs', { backlog: 2 })).resolves.toMatchObject({ jobs: { status: 'up' } });
    await expect(health.check('jobs', { backlog: 1 })).resolves.toMatchObject({
      jobs: { problems: [expect.stringContaining(FN)] },
    });
    open();
    await eventually(async () => {
      expect((await queue())?.waiting.normal ?? 0).toBe(0);
      const all = await lines();
      const of = `system="${name}",fn="${FN}"`;
      expect(all).toContain(`gearmonkey_jobs_finished_total{${of},outcome="succeeded"} 3`);
      expect(all).toContain(`gearmonkey_jobs_enqueued_total{${of}} 3`);
      expect(all).toContain(`gearmonkey_job_run_seconds_count{${of}} 3`);
    });
    for (const [spanName, kind] of [
      [`send ${FN}`, SpanKind.PRODUCER],
      [`process ${FN}`, SpanKind.CONSUMER],
    ] as const) {
      await eventually(() => {
        const spans = exporter.getFinishedSpans().filter((span) => span.name === spanName);
        expect(spans).toHaveLength(3);
        for (const { kind: own, attributes } of spans) {
          expect(own).toBe(kind);
          expect(attributes).toMatchObject({
            'messaging.system': name,
            'messaging.destination.name': FN,
            'messaging.message.id': expect.stringMatching(/./),
          });
        }
      });
    }
  });
});
