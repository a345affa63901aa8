import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
// By its path: bench/ is a package of its own, from which the name does not resolve.
import { GearMonkeyClient, GearMonkeyModule, Worker } from '../../dist/index.js';

const FN = 'bench';

export const name = 'nestjs-gearmonkey';
export const version = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url))).version;

/** As an app uses it: through the Nest module, with its defaults. */
export async function open(url) {
  const app = await createApp(url, []);
  const client = app.get(GearMonkeyClient);
  return {
    enqueue: (input) => client.run(FN, input),
    enqueueBulk: (inputs) => client.runMany(FN, inputs),
    call: (input) => client.call(FN, input),
    work: async (concurrency, handler) => {
      const worker = await createApp(url, [handlerClass(concurrency, handler)]);
      return () => worker.close();
    },
    close: () => app.close(),
  };
}

function createApp(url, providers) {
  class App {}
  Module({ imports: [GearMonkeyModule.forRoot({ connection: url })], providers })(App);
  return NestFactory.createApplicationContext(App, { logger: ['warn'], abortOnError: false });
}

/** What TypeScript makes of `@Worker('bench', { concurrency }) run(input) { … }`. */
function handlerClass(concurrency, handler) {
  class Handlers {
    run(input) {
      return handler(input);
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Handlers.prototype, 'run');
  Worker(FN, { concurrency })(Handlers.prototype, 'run', descriptor);
  return Handlers;
}
