import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GearMonkeyModule, Worker } from '../../../dist/index.js';
import { jq } from '../../../dist/jq/index.js';
import { IN_FLIGHT } from './load.mjs';

/** A Nest app whose handler does nothing. `done` resolves with the seconds from the first job to the last. */
export async function startWorker(master, name, count) {
  let [handled, first] = [0, 0];
  let resolve;
  const done = new Promise((settle) => (resolve = settle));
  class Handler {
    handle() {
      handled += 1;
      first ||= performance.now();
      if (handled === count) resolve((performance.now() - first) / 1000);
      return true;
    }
  }
  const method = Object.getOwnPropertyDescriptor(Handler.prototype, 'handle') ?? {};
  Worker(name, { concurrency: IN_FLIGHT })(Handler.prototype, 'handle', method);
  class App {}
  const source = jq({ master, listen: { port: 0 } });
  Module({ imports: [GearMonkeyModule.forRoot({ source })], providers: [Handler] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  return { done, stop: () => app.close() };
}
