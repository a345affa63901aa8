import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

// By its place: bench/ is a separate package, where the name does not resolve.
const HERE = new URL('../../dist/index.js', import.meta.url).href;

/**
 * This package as an app uses it, as a queue of one definition.
 *
 * @param {any} url
 * @param {any} definition
 * @param {any} [options] of `forRoot`, beside the connection; `from`: another build
 */
export async function openOwnApp(url, definition, { from = HERE, ...options } = {}) {
  const { GearMonkeyClient, GearMonkeyModule, Worker } = await import(from);
  const createApp = (providers) => {
    class App {}
    Module({ imports: [GearMonkeyModule.forRoot({ connection: url, ...options })], providers })(App);
    return NestFactory.createApplicationContext(App, { logger: ['warn'], abortOnError: false });
  };
  const app = await createApp([]);
  const client = app.get(GearMonkeyClient);
  return {
    enqueueBulk: (inputs, options) => client.runMany(definition, inputs, options),
    enqueue: (input, options) => client.run(definition, input, options),
    work: async (concurrency, handler) => {
      const worker = await createApp([handlerClass(Worker, definition, concurrency, handler)]);
      return () => worker.close();
    },
    close: () => app.close(),
  };
}

/** The compiled form of `@Worker(definition, { concurrency }) run(input) { … }`. */
function handlerClass(Worker, definition, concurrency, handler) {
  class Handlers {
    run(input) {
      return handler(input);
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Handlers.prototype, 'run') ?? {};
  Worker(definition, { concurrency })(Handlers.prototype, 'run', descriptor);
  return Handlers;
}
