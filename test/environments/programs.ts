/** Enqueues one job and ends by itself. */
export const ENQUEUE_AND_EXIT = `
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GearMonkeyClient, GearMonkeyModule } from 'nestjs-gearmonkey';

@Module({ imports: [GearMonkeyModule.forRoot({ connection: process.argv[2] ?? '' })] })
class Script {}

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(Script, { logger: false });
  const { id } = await app.get(GearMonkeyClient).run('mail', { to: 'ada' });
  await app.close();
  console.log('enqueued', id);
}
void main();
`;

/** Names types of every entry point, and nothing that is there at run time. */
export const TYPES_ONLY = `
import type { GearMonkeyClient, GearMonkeyModuleOptions, Job, JobDefinition, RunningJob } from 'nestjs-gearmonkey';
import type { JobdModuleOptions } from 'nestjs-gearmonkey/jobd';
import type { JqJob } from 'nestjs-gearmonkey/jq';
import type { QlessClient } from 'nestjs-gearmonkey/qless';

export const options: GearMonkeyModuleOptions = { connection: 'memory:', shutdownTimeout: '5s' };
export type Everything = [JobdModuleOptions, JqJob<string>, QlessClient, Job];

export async function greet(jobs: GearMonkeyClient, definition: JobDefinition<string, number>): Promise<number> {
  const { output } = (await jobs.get(definition, '1')) ?? {};
  return output ?? 0;
}

export function report(job: RunningJob): Promise<void> {
  // @ts-expect-error: it counts
  void job.update('1', 2);
  return job.update(1, 2);
}
console.log('types only');
`;

/** A test of a handler in memory, for runners whose compilers write no metadata. */
export const SPEC = `
import 'reflect-metadata';
import { Inject, Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { GearMonkeyClient, GearMonkeyModule, Input, Worker, defineJob } from 'nestjs-gearmonkey';

const greet = defineJob<{ name: string }, string>('greet');

@Injectable()
class Greeter {
  constructor(@Inject(GearMonkeyClient) private readonly jobs: GearMonkeyClient) {}

  @Worker(greet)
  async greet(@Input('name') name: string): Promise<string> {
    return name + ' ' + (await this.jobs.rollCall(greet));
  }
}

it('greets', async () => {
  const module = await Test.createTestingModule({
    imports: [GearMonkeyModule.forRoot({ connection: 'memory:' })],
    providers: [Greeter],
  }).compile();
  await module.init();
  expect(await module.get(GearMonkeyClient).call(greet, { name: 'Ada' })).toBe('Ada 1');
  await module.close();
});
`;

/** Runs one job, and prints what health and metrics say of it. */
export const OBSERVED = `
import 'reflect-metadata';
import { Controller, Get, Inject, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { GearMonkeyClient, GearMonkeyModule, Worker } from 'nestjs-gearmonkey';
import { GearMonkeyHealthIndicator, GearMonkeyHealthModule } from 'nestjs-gearmonkey/health';
import { GearMonkeyMetrics, GearMonkeyMetricsModule } from 'nestjs-gearmonkey/metrics';
import { GearMonkeyTracingModule } from 'nestjs-gearmonkey/tracing';

@Injectable()
class Greeter {
  @Worker('greet')
  greet(): string {
    return 'hello';
  }
}

@Controller('health')
class HealthController {
  constructor(
    @Inject(HealthCheckService) private readonly health: HealthCheckService,
    @Inject(GearMonkeyHealthIndicator) private readonly jobs: GearMonkeyHealthIndicator,
  ) {}

  @Get()
  check() {
    return this.health.check([() => this.jobs.check('jobs', { backlog: 100, latency: '1m' })]);
  }
}

@Module({
  imports: [
    GearMonkeyModule.forRoot({ connection: process.argv[2] ?? '' }),
    TerminusModule,
    GearMonkeyHealthModule,
    GearMonkeyMetricsModule.forRoot(),
    GearMonkeyTracingModule,
  ],
  controllers: [HealthController],
  providers: [Greeter],
})
class App {}

async function main(): Promise<void> {
  const app = await NestFactory.create(App, { logger: false });
  await app.listen(0);
  const url = await app.getUrl();
  await app.get(GearMonkeyClient).call('greet', {});
  const health = (await (await fetch(url + '/health')).json()) as { status: string; info: { jobs: { status: string } } };
  const { text } = await app.get(GearMonkeyMetrics).read();
  const line = text.split('\\n').find((each) => each.startsWith('gearmonkey_jobs_finished_total'));
  await app.close();
  console.log(JSON.stringify({ health: { status: health.status, jobs: health.info.jobs.status }, metrics: line }));
}
void main();
`;

/** Uses a type of every entry point, and the channels, whose types differ with the versions of `@types/node`. */
export const EVERY_ENTRY_POINT = `
import { AsyncLocalStorage } from 'node:async_hooks';
import { instrumentation, subscribeTo, type RunEvent } from 'nestjs-gearmonkey';
export type * as bullmq from 'nestjs-gearmonkey/bullmq';
export type * as dashboard from 'nestjs-gearmonkey/dashboard';
export type * as health from 'nestjs-gearmonkey/health';
export type * as jobd from 'nestjs-gearmonkey/jobd';
export type * as jq from 'nestjs-gearmonkey/jq';
export type * as metrics from 'nestjs-gearmonkey/metrics';
export type * as qless from 'nestjs-gearmonkey/qless';
export type * as testing from 'nestjs-gearmonkey/testing';
export type * as tracing from 'nestjs-gearmonkey/tracing';

const names = new AsyncLocalStorage<string>();
instrumentation.run.start.bindStore(names, ({ claim }: RunEvent) => claim.fn);
subscribeTo(instrumentation.run, { asyncEnd: ({ duration }) => duration?.toFixed() });
// @ts-expect-error: a run has no such property
subscribeTo(instrumentation.run, { start: ({ slots }) => slots });
`;
