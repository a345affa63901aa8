import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
// Imported by path: bench/ is a separate package, where the name does not resolve.
import { GearMonkeyModule, Worker } from '../../../../dist/index.js';

/** Starts a worker of these functions in one app. */
export async function start(url, names) {
  class Handlers {}
  for (const name of names) {
    const method = { value: async () => true, writable: true, configurable: true };
    Object.defineProperty(Handlers.prototype, name, method);
    Worker(name)(Handlers.prototype, name, method);
  }
  class App {}
  Module({ imports: [GearMonkeyModule.forRoot({ connection: url })], providers: [Handlers] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: ['warn'], abortOnError: false });
  return () => app.close();
}
