// A worker process of the suite, a Nest app from dist/:
// `worker.mjs '{ "url", "history", "lease", "connection"?, "hostile"?, "failing"?, "shutdownTimeout"?, "module"? }'`.
// `connection` takes the place of the URL, `hostile` is a module with HOSTILE_VALUES, one that is `failing` ends half-way
// through its start, and `module` are more of the module's options.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineJob, fail, GearMonkeyModule, ok, Worker } from '../../dist/index.js';
import { BATCHED, batchOf, HANDLED, limitOf, perform } from './jobs.mjs';
import { notesTo } from './note.mjs';

const settings = JSON.parse(process.argv[2]);
const {
  url,
  connection = url,
  history,
  lease,
  failing = false,
  shutdownTimeout = '3s',
  module = {},
} = settings;
if (connection.tls) connection.tls.checkServerIdentity = () => undefined;
const { HOSTILE_VALUES: hostile } = settings.hostile ? await import(settings.hostile) : {};
const note = notesTo(history);

/** The outputs of batches are checked for some time, in which jobs may end otherwise. */
const slowly = {
  '~standard': {
    version: 1,
    vendor: 'chaos',
    validate: async (value) => {
      await sleep(value.n.length % 3 === 0 ? 100 : 5);
      return { value };
    },
  },
};

/** What a worker of a function is made of: its name, or a definition. */
function servedOf(fn) {
  return fn === BATCHED ? defineJob(fn, { output: slowly }) : fn;
}

/** The context of each run is slow to come, too. */
async function runSlowly(_, next) {
  await sleep(Math.random() < 0.1 ? 20 : 0);
  return next();
}

class Handlers {
  async run(input, job) {
    const { fn, id, token, stalls } = job.claim;
    note({ e: 'start', fn, id, token, attempts: job.attempts, stalls });
    try {
      const output = await perform(input, job, hostile, note);
      note({ e: 'end', fn, id, token, ok: true });
      return output;
    } catch (error) {
      note({ e: 'end', fn, id, token, ok: false });
      throw error;
    }
  }
}

/** Each job of a batch as if it ran alone. */
async function runBatch(handlers, inputs, jobs) {
  const outcome = (input, n) => handlers.run(input, jobs[n]).then(ok, fail);
  return Promise.all(inputs.map(outcome));
}

Object.entries(HANDLED).forEach(([fn, concurrency], index) => {
  const method = `run${index}`;
  const batch = batchOf(fn);
  Handlers.prototype[method] = function (input, job) {
    return batch ? runBatch(this, input, job) : this.run(input, job);
  };
  const descriptor = Object.getOwnPropertyDescriptor(Handlers.prototype, method);
  const limit = limitOf(fn);
  Worker(servedOf(fn), { concurrency, ...(limit && { limit }), ...(batch && { batch }) })(
    Handlers.prototype,
    method,
    descriptor,
  );
});

/** The root's hook comes last: workers have begun by then. */
class App {
  async onApplicationBootstrap() {
    if (!failing) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
    throw new Error('half-way, as told');
  }
}
Module({
  imports: [
    GearMonkeyModule.forRoot({
      ...{ connection, lease, shutdownTimeout },
      middleware: [{ aroundRun: runSlowly }],
      ...module,
    }),
  ],
  providers: [Handlers],
})(App);

const app = await NestFactory.createApplicationContext(App, { logger: ['warn', 'error'] });
app.enableShutdownHooks();
note({ e: 'ready' });
