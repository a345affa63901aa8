/** An app with HTTP and without a server, that uses the entry points for operating and testing, and says what each answers. */
import 'reflect-metadata';
import { Inject, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { INVALID_SPAN_CONTEXT, trace, type Tracer } from '@opentelemetry/api';
import { GearMonkeyClient, GearMonkeyModule, Worker } from 'nestjs-gearmonkey';
import { DashboardModule } from 'nestjs-gearmonkey/dashboard';
import { GearMonkeyHealthIndicator, GearMonkeyHealthModule } from 'nestjs-gearmonkey/health';
import { GearMonkeyMetrics, GearMonkeyMetricsModule } from 'nestjs-gearmonkey/metrics';
import { GearMonkeyTestClient, GearMonkeyTestingModule } from 'nestjs-gearmonkey/testing';
import { GearMonkeyTracingModule } from 'nestjs-gearmonkey/tracing';

const TOKEN = 'of-the-one-who-develops';
process.env['GEARMONKEY_DASHBOARD_TOKEN'] = TOKEN;

@Injectable()
class Greeter {
  @Worker('greet')
  greet(name: string): string {
    return `Hello, ${name}!`;
  }
}

@Injectable()
class Asked {
  constructor(
    @Inject(GearMonkeyMetrics) private readonly metrics: GearMonkeyMetrics,
    @Inject(GearMonkeyHealthIndicator) private readonly health: GearMonkeyHealthIndicator,
  ) {}

  async answers(): Promise<object> {
    const { text } = await this.metrics.read();
    const { jobs } = await this.health.check('jobs');
    return { metrics: /gearmonkey_\w+_total/.exec(text)?.[0], health: jobs.status };
  }
}

@Module({
  imports: [
    GearMonkeyModule.forRoot({ connection: 'memory:' }),
    DashboardModule.forRoot(),
    GearMonkeyMetricsModule.forRoot(),
    GearMonkeyHealthModule,
    GearMonkeyTracingModule.forRoot(),
  ],
  providers: [Greeter, Asked],
})
class App {}

@Module({ imports: [GearMonkeyTestingModule.forRoot()], providers: [Greeter] })
class TestedApp {}

const spans: string[] = [];

function noteSpans(): void {
  const startSpan: Tracer['startSpan'] = (name) => {
    spans.push(name);
    return trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) as Tracer });
}

async function page(url: string): Promise<object> {
  const entered = await fetch(`${url}/jobs/?token=${TOKEN}`, { redirect: 'manual' });
  const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? '';
  const read = (path: string) => fetch(`${url}/jobs/${path}`, { headers: { cookie } });
  const index = await (await read('')).text();
  const [, file = ''] = /src="\.\/(assets\/[^"]+\.js)"/.exec(index) ?? [];
  const script = await read(file);
  const overview = (await (await read('api/overview')).json()) as { fn: string }[];
  return {
    script: [script.status, script.headers.get('content-type'), (await script.text()).length > 10_000],
    functions: overview.map(({ fn }) => fn),
  };
}

async function tested(): Promise<unknown> {
  const module = await Test.createTestingModule({ imports: [TestedApp] }).compile();
  await module.init();
  const jobs = module.get(GearMonkeyTestClient);
  const handle = await jobs.run('greet', 'Ada');
  await jobs.test.drain();
  const output = await handle.result();
  await module.close();
  return output;
}

async function main(): Promise<void> {
  noteSpans();
  const app = await NestFactory.create(App, { logger: ['warn', 'error'] });
  await app.listen(0, '127.0.0.1');
  const called = await app.get(GearMonkeyClient).call('greet', 'Grace');
  const answers = { called, ...(await page(await app.getUrl())), ...(await app.get(Asked).answers()), spans };
  await app.close();
  process.stdout.write(JSON.stringify({ ...answers, tested: await tested() }));
}
void main();
