import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
// Imported by path: bench/ is a separate package, where the name does not resolve.
import { GearMonkeyClient, GearMonkeyModule, Worker } from '../../../../dist/index.js';

const FN = 'bench';

/** This package as an app uses it: through the Nest module, with its defaults. */
export async function open(url) {
  const app = await createApp(url, []);
  const client = app.get(GearMonkeyClient);
  return {
    enqueue: (input) => client.run(FN, input),
    enqueueBulk: (inputs) => client.runMany(FN, inputs),
    call: (input) => client.call(FN, input),
    plainClient: () => plainClient(url),
    work: async (concurrency, handler) => {
      const worker = await createApp(url, [handlerClass(concurrency, handler)]);
      return () => worker.close();
    },
    close: () => app.close(),
  };
}

/** A plain client, as in any language: four successive commands, without a wake marker. */
function plainClient(url) {
  const redis = new Redis(url);
  return {
    enqueue: async (input) => {
      const id = await redis.incr(`uid:${FN}`);
      await redis.hset(`job:${FN}:${id}`, 'status', 'idle', 'input', JSON.stringify(input));
      await redis.publish(`channel:${FN}`, `create:${id}`);
      await redis.lpush(`queue:${FN}:normal`, id);
    },
    close: () => redis.disconnect(),
  };
}

function createApp(url, providers) {
  class App {}
  Module({ imports: [GearMonkeyModule.forRoot({ connection: url })], providers })(App);
  return NestFactory.createApplicationContext(App, { logger: ['warn'], abortOnError: false });
}

/** The compiled form of `@Worker('bench', { concurrency }) run(input) { … }`. */
function handlerClass(concurrency, handler) {
  class Handlers {
    run(input) {
      return handler(input);
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Handlers.prototype, 'run') ?? {};
  Worker(FN, { concurrency })(Handlers.prototype, 'run', descriptor);
  return Handlers;
}
