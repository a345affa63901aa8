import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
// Imported by path: bench/ is a separate package, where the name does not resolve.
import { GearMonkeyClient, GearMonkeyModule, Worker } from '../../dist/index.js';

/**
 * This package as an app uses it, as a queue of one definition.
 *
 * @param {object} [options] of `forRoot`, beside the connection
 */
export async function openOwnApp(url, definition, options = {}) {
  const app = await createApp(url, options, []);
  const client = app.get(GearMonkeyClient);
  return {
    enqueueBulk: (inputs, options) => client.runMany(definition, inputs, options),
    enqueue: (input, options) => client.run(definition, input, options),
    work: async (concurrency, handler) => {
      const worker = await createApp(url, options, [handlerClass(definition, concurrency, handler)]);
      return () => worker.close();
    },
    close: () => app.close(),
  };
}

function createApp(url, options, providers) {
  class App {}
  Module({ imports: [GearMonkeyModule.forRoot({ connection: url, ...options })], providers })(App);
  return NestFactory.createApplicationContext(App, { logger: ['warn'], abortOnError: false });
}

/** The compiled form of `@Worker(definition, { concurrency }) run(input) { … }`. */
function handlerClass(definition, concurrency, handler) {
  class Handlers {
    run(input) {
      return handler(input);
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Handlers.prototype, 'run') ?? {};
  Worker(definition, { concurrency })(Handlers.prototype, 'run', descriptor);
  return Handlers;
}
