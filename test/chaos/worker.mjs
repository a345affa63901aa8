// A worker process of the suite: `worker.mjs '{ "url", "history", "lease", "module"? }'`, a Nest app from dist/.
// `module` are more of the module's options.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GearMonkeyModule, Worker } from '../../dist/index.js';
import { HANDLED, perform } from './jobs.mjs';
import { notesTo } from './note.mjs';

const { url, history, lease, module = {} } = JSON.parse(process.argv[2]);
const note = notesTo(history);

class Handlers {
  async run(input, job) {
    const { fn, id, token, stalls } = job.claim;
    note({ e: 'start', fn, id, token, attempts: job.attempts, stalls });
    try {
      const output = await perform(input, job);
      note({ e: 'end', fn, id, token, ok: true });
      return output;
    } catch (error) {
      note({ e: 'end', fn, id, token, ok: false });
      throw error;
    }
  }
}

Object.entries(HANDLED).forEach(([fn, concurrency], index) => {
  const method = `run${index}`;
  Handlers.prototype[method] = function (input, job) {
    return this.run(input, job);
  };
  const descriptor = Object.getOwnPropertyDescriptor(Handlers.prototype, method);
  Worker(fn, { concurrency })(Handlers.prototype, method, descriptor);
});

class App {}
Module({
  imports: [GearMonkeyModule.forRoot({ connection: url, lease, shutdownTimeout: '3s', ...module })],
  providers: [Handlers],
})(App);

const app = await NestFactory.createApplicationContext(App, { logger: ['warn', 'error'] });
app.enableShutdownHooks();
note({ e: 'ready' });
