import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { defineJob, GearMonkeyClient, GearMonkeyModule, UnrecoverableError, Worker } from 'nestjs-gearmonkey';
import { GearMonkeyTracingModule, type TracingModuleOptions } from 'nestjs-gearmonkey/tracing';
import { eventually } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';

@Injectable()
class Handlers {
  constructor(private readonly jobs: GearMonkeyClient) {}

  @Worker('resize')
  resize() {
    return propagation.getBaggage(context.active())?.getEntry('tenant')?.value ?? 'none';
  }

  @Worker('outer')
  async outer() {
    await this.jobs.run('resize', 'inner');
  }

  @Worker('fails')
  fails() {
    throw new UnrecoverableError('refused by https://ada:secret@example.com/');
  }
}

const WAIT = { timeout: '60s' } as const;

describe('GearMonkeyTracingModule', () => {
  const redis = useRedis();
  const apps = useApps();
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });

  beforeAll(() => {
    trace.setGlobalTracerProvider(provider);
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const propagators = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()];
    propagation.setGlobalPropagator(new CompositePropagator({ propagators }));
  });
  afterEach(() => exporter.reset());
  afterAll(async () => {
    trace.disable();
    context.disable();
    propagation.disable();
    await provider.shutdown();
  });

  async function start(connection: string, options?: TracingModuleOptions): Promise<GearMonkeyClient> {
    const imports = [GearMonkeyModule.forRoot({ connection }), GearMonkeyTracingModule.forRoot(options)];
    return (await apps.start({ imports, providers: [Handlers] })).get(GearMonkeyClient);
  }

  /** The spans of these names, once all have ended. */
  async function spans(...names: string[]): Promise<ReadableSpan[]> {
    await eventually(() => {
      expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(expect.arrayContaining(names));
    });
    return names.map(
      (name) => exporter.getFinishedSpans().find((span) => span.name === name) as ReadableSpan,
    );
  }

  /** Calls within a span of the app. */
  const inSpan = <T>(run: () => Promise<T>): Promise<T> =>
    provider.getTracer('app').startActiveSpan('request', async (span) => {
      try {
        return await run();
      } finally {
        span.end();
      }
    });

  it.each([
    ['Redis', 'gearmonkey', () => redis.url],
    ['memory', 'memory', () => 'memory:'],
  ])('links a run with the trace in which its job was enqueued: %s', async (_, system, url) => {
    const client = await start(url());
    const id = await inSpan(async () => {
      const job = await client.run('resize', 'x');
      await job.result(WAIT);
      return job.id;
    });
    const [request, send, run] = await spans('request', 'send resize', 'process resize');
    expect(send).toMatchObject({
      kind: SpanKind.PRODUCER,
      parentSpanContext: { spanId: request?.spanContext().spanId },
      attributes: {
        'messaging.system': system,
        'messaging.operation.name': 'send',
        'messaging.operation.type': 'send',
        'messaging.destination.name': 'resize',
        'messaging.message.id': id,
      },
    });
    expect(run).toMatchObject({
      kind: SpanKind.CONSUMER,
      parentSpanContext: undefined,
      links: [{ context: { spanId: send?.spanContext().spanId, traceId: request?.spanContext().traceId } }],
      attributes: {
        'messaging.operation.type': 'process',
        'messaging.message.id': id,
        'gearmonkey.job.attempt': 1,
        'gearmonkey.job.outcome': 'success',
      },
    });
    expect(run?.spanContext().traceId).not.toBe(request?.spanContext().traceId);
    if (system === 'gearmonkey')
      expect(run?.attributes).toMatchObject({
        'server.address': '127.0.0.1',
        'server.port': redis.port,
      });
  });

  it('continues the trace by option, with a job that a handler enqueues, and makes no span twice', async () => {
    const imports = [
      GearMonkeyModule.forRoot({ connection: 'memory:' }),
      GearMonkeyTracingModule.forRoot({ relation: 'parent' }),
      GearMonkeyTracingModule.forRoot(),
    ];
    const client = (await apps.start({ imports, providers: [Handlers] })).get(GearMonkeyClient);
    await inSpan(() => client.call('outer', null, WAIT));
    const all = await spans('request', 'send outer', 'process outer', 'send resize', 'process resize');
    const ids = all.map((span) => span.spanContext().spanId);
    expect(all.map((span) => span.parentSpanContext?.spanId)).toEqual([undefined, ...ids.slice(0, -1)]);
    expect(new Set(all.map((span) => span.spanContext().traceId)).size).toBe(1);
    expect(all.flatMap(({ links }) => links)).toEqual([]);
    expect(exporter.getFinishedSpans()).toHaveLength(5);
  });

  it('carries baggage to the handler', async () => {
    const client = await start('memory:');
    const baggage = propagation.createBaggage({ tenant: { value: 'acme' } });
    const within = propagation.setBaggage(context.active(), baggage);
    await expect(context.with(within, () => client.call('resize', 'x', WAIT))).resolves.toBe('acme');
  });

  it('records why a job failed, without credentials', async () => {
    const client = await start('memory:');
    const job = await client.run('fails', 'x');
    await expect(job.result(WAIT)).rejects.toMatchObject({ code: 'JOB_FAILED' });
    const [run] = await spans('process fails');
    expect(run?.status.code).toBe(SpanStatusCode.ERROR);
    expect(run?.attributes).toMatchObject({ 'error.type': 'UnrecoverableError' });
    expect(run?.events.map(({ name }) => name)).toEqual(['exception']);
    expect(JSON.stringify([run?.status, run?.events, run?.attributes])).not.toContain('secret');
  });

  it('records why an enqueue failed, without credentials', async () => {
    const client = await start('memory:');
    const issues = [{ message: 'refused by https://ada:secret@example.com/' }];
    const strict: StandardSchemaV1<string> = {
      '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) },
    };
    const resize = defineJob('resize', { input: strict });
    await expect(client.run(resize, 'x')).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    const [send] = await spans('send resize');
    expect(send?.status).toMatchObject({
      code: SpanStatusCode.ERROR,
      message: expect.stringContaining('refused by https://'),
    });
    expect(JSON.stringify([send?.status, send?.events, send?.attributes])).not.toContain('secret');
  });

  it('makes one span for many jobs', async () => {
    const client = await start('memory:');
    const jobs = await client.runMany('resize', ['x', 'y']);
    const [send] = await spans('send resize');
    expect(send?.attributes).toMatchObject({
      'messaging.batch.message_count': 2,
      'gearmonkey.job.ids': jobs.map(({ id }) => id),
    });
  });

  it.each([
    ['malformed', { traceparent: 'no', tracestate: '=,=', baggage: ';;;==' }],
    ['unfinished', { baggage: '%E0%A4%A', traceparent: '00-0-0-0' }],
    ['too long', { traceparent: '0'.repeat(2000), baggage: `tenant=${'b'.repeat(2000)}` }],
  ])('runs jobs whose headers are %s', async (_, headers) => {
    const client = await start('memory:');
    await expect(client.call('resize', 'x', { headers, ...WAIT })).resolves.toBe('none');
    const [run] = await spans('process resize');
    expect(run?.links).toEqual([]);
  });

  it('runs jobs of plain clients', async () => {
    await start(redis.url);
    await redis.redis.hset('job:resize:77', { input: 'x', status: 'idle' });
    await redis.redis.lpush('queue:resize:normal', '77');
    const [run] = await spans('process resize');
    expect(run?.links).toEqual([]);
    expect(run?.attributes).toMatchObject({ 'messaging.message.id': '77' });
  });

  it('refuses a wrong option, and stops with its app', async () => {
    await expect(start('memory:', { relation: 'child' as 'link' })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    });
    const app = await apps.start({
      imports: [GearMonkeyModule.forRoot({ connection: 'memory:' }), GearMonkeyTracingModule.forRoot()],
    });
    await app.close();
    const plain = await apps.start({ imports: [GearMonkeyModule.forRoot({ connection: 'memory:' })] });
    await plain.get(GearMonkeyClient).run('resize', 'x');
    expect(exporter.getFinishedSpans()).toEqual([]);
  });

  it('goes on until the last app of the process is closed', async () => {
    const imports = [GearMonkeyModule.forRoot({ connection: 'memory:' }), GearMonkeyTracingModule.forRoot()];
    const closed = await apps.start({ imports });
    const client = (await apps.start({ imports })).get(GearMonkeyClient);
    await closed.close();
    await client.run('resize', 'x');
    await spans('send resize');
  });
});
