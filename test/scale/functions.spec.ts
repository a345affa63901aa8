import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GearMonkeyClient, GearMonkeyModule, Worker } from 'nestjs-gearmonkey';
import { CommandTrace, countCalls, type Traced } from '../support/command-trace.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { connectionsOf } from './connections.js';

const FUNCTIONS = 1000;
/** A worker says so often that it is there. */
const PRESENCE_MS = 2000;
const names = Array.from({ length: FUNCTIONS }, (_, number) => `fn-${number}`);

describe(`an app with ${FUNCTIONS} functions`, () => {
  const server = useRedis();
  let app: INestApplicationContext;
  let trace: CommandTrace;
  let started: Traced[];
  let startedIn: number;

  beforeAll(async () => {
    trace = await CommandTrace.start(server.redis);
    const begun = performance.now();
    app = await NestFactory.createApplicationContext(appOf(server.url), { logger: false });
    await until(async () => (await connectionsOf(server.redis)).some(({ cmd }) => cmd === 'blpop'));
    startedIn = performance.now() - begun;
    started = await trace.take();
  });

  afterAll(async () => {
    trace.stop();
    await app.close();
  });

  it('starts with a few commands for each of them', () => {
    const { presence = 0, claim = 0, eval: texts = 0, ...others } = countCalls(started);
    const repeated = Math.floor(startedIn / PRESENCE_MS);
    // A server that is new to a script is asked twice; then it has the text of it, once.
    expect(presence).toBeLessThanOrEqual((3 + repeated) * FUNCTIONS);
    expect(claim).toBeLessThanOrEqual(2 * FUNCTIONS);
    expect(texts).toBeLessThan(20);
    expect(sum(others)).toBeLessThan(((1 + repeated) * FUNCTIONS) / 10);
  });

  it('serves each of them, on four connections', async () => {
    const client = app.get(GearMonkeyClient);
    const outputs = await Promise.all(names.map((fn) => client.call(fn, 'x', { timeout: '60s' })));
    expect(outputs).toEqual(names);
    expect((await connectionsOf(server.redis)).length).toBeLessThanOrEqual(4);
  });

  it('does not block on all of them again whenever one has a job', async () => {
    const waits = countCalls(await trace.take()).blpop ?? 0;
    expect(waits).toBeLessThan(FUNCTIONS / 2);
  });

  it('checks only some of them at a time when all are idle', async () => {
    const looks = await until(async () => {
      const found = (await trace.take()).filter(({ name }) => name === 'look');
      return found.length > 0 && found;
    });
    const keys = looks.map(({ args }) => Number(args[1]));
    expect(Math.max(...keys)).toBeLessThanOrEqual(1000);
  });
});

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((one, other) => one + other, 0);
}

/** What TypeScript makes of a class with a method `@Worker('fn-7')` for each function. */
function appOf(url: string) {
  class Handlers {}
  for (const fn of names) {
    const method = { value: () => fn, configurable: true, writable: true };
    Object.defineProperty(Handlers.prototype, fn, method);
    Worker(fn)(Handlers.prototype, fn, method);
  }
  class App {}
  Module({
    imports: [GearMonkeyModule.forRoot({ connection: url, enqueueTimeout: '60s' })],
    providers: [Handlers],
  })(App);
  return App;
}
