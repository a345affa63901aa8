// A producer process of the suite:
// `producer.mjs '{ "url", "history", "seed", "name", "rate", "lease", "blocking", "connection"?, "calls"?, "module"?, … }'`.
// Creates `rate` jobs a second with our client until SIGTERM, and then waits for what it has begun.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineJob, GearMonkeyClient, GearMonkeyModule } from '../../dist/index.js';
import { awaitFlow, awaitResult, callMany, watchToEnd } from './calls.mjs';
import { FAST, limitOf, LIMITS, makeFlow, makeJob } from './jobs.mjs';
import { notesTo } from './note.mjs';
import { Random } from './random.mjs';
import { Starvation } from './starvation.mjs';

const TICK_MS = 50;
const MAX_OPEN = 3000;
/** How often a tick begins a flow. */
const FLOWS_A_TICK = 0.1;

const settings = JSON.parse(process.argv[2]);
const { url, connection = url, history, seed, name, rate, calls, module = {} } = settings;
if (connection.tls) connection.tls.checkServerIdentity = () => undefined;
const note = notesTo(history);
const random = new Random(seed);
const definitions = new Map(Object.keys(LIMITS).map((fn) => [fn, defineJob(fn, { limit: limitOf(fn) })]));
const starvation = new Starvation();
const open = new Set();
let stopping = false;
let created = 0;

class App {}
Module({ imports: [GearMonkeyModule.forRoot({ connection, ...module })] })(App);
const app = await NestFactory.createApplicationContext(App, { logger: ['warn', 'error'] });
const client = app.get(GearMonkeyClient);
process.on('SIGTERM', () => (stopping = true));
note({ e: 'ready' });

const began = performance.now();
let called = 0;
let nextCalls = began + (calls?.every ?? Infinity) / 2;
while (!stopping) {
  const due = Math.min(((performance.now() - began) / 1000) * rate - created, rate);
  if (open.size < MAX_OPEN) submit(Array.from({ length: due }, () => makeJob(random, next(), settings)));
  else created = Math.floor(((performance.now() - began) / 1000) * rate);
  if (open.size < MAX_OPEN && random.next() < FLOWS_A_TICK) keep(createFlow(makeFlow(random, next)));
  if (performance.now() >= nextCalls) {
    nextCalls = performance.now() + calls.every;
    keep(
      callMany(
        client,
        note,
        Array.from({ length: calls.burst }, () => `${name}/call${++called}`),
        starvation,
      ),
    );
  }
  await sleep(TICK_MS);
}
await Promise.all(open);
note({ e: 'done' });
await app.close();

function next() {
  return `${name}/${++created}`;
}

/** Half of the fast ones go in bulk, everything else alone. */
function submit(jobs) {
  const bulk = jobs.filter(
    ({ fn, options }) => fn === FAST && Object.keys(options).length === 0 && random.next() < 0.5,
  );
  if (bulk.length > 0) keep(createMany(bulk));
  for (const job of jobs) if (!bulk.includes(job)) keep(create(job));
}

function keep(promise) {
  const kept = promise.finally(() => open.delete(kept));
  open.add(kept);
}

async function create(job) {
  const { fn, input, options } = job;
  const handle = await acknowledged([job], () => client.run(definitions.get(fn) ?? fn, input, options));
  if (!handle) return;
  if (input.kind === 'cancelled') await cancel(handle, input.n);
  if (input.kind === 'waiting') await signal(handle);
  if (input.kind !== 'fast') return;
  const chance = random.next();
  if (chance < 0.02) await awaitResult(handle, note, input.n, starvation);
  else if (chance < 0.03) await watchToEnd(client, handle, note, input.n, starvation);
}

/** Jobs that wait for each other, and what their flow says of them at the end. */
async function createFlow(jobs) {
  const nodes = jobs.map(({ fn, input }) => ({
    job: fn,
    input,
    options: { onParentError: input.policy },
    children: [],
  }));
  for (const [number, { after }] of jobs.entries())
    for (const parent of after) nodes[parent].children.push(nodes[number]);
  const before = starvation.ms;
  let flow;
  try {
    flow = await client.flow(nodes[0]);
  } catch (error) {
    // It asks several times, each by the deadline.
    for (const { fn, input } of jobs)
      note({ e: 'unsure', fn, n: input.n, kind: 'flow', code: error.code ?? String(error), took: 0 });
    return;
  }
  const waited = { took: 0, starved: starvation.ms - before };
  for (const [number, { fn, input }] of jobs.entries())
    note({ e: 'enqueued', fn, n: input.n, kind: 'flow', id: flow.jobOf(nodes[number]).id, ...waited });
  await awaitFlow(
    flow,
    note,
    jobs.map(({ input }) => input.n),
    starvation,
  );
}

async function createMany(jobs) {
  await acknowledged(jobs, () =>
    client.runMany(
      FAST,
      jobs.map(({ input }) => input),
    ),
  );
}

/** What `send` answers, with a line for each job that it did or may have created. */
async function acknowledged(jobs, send) {
  const start = performance.now();
  const before = starvation.ms;
  const took = () => ({ took: Math.round(performance.now() - start), starved: starvation.ms - before });
  const about = ({ fn, input }) => ({ fn, n: input.n ?? input, kind: input.kind ?? 'shared' });
  try {
    const answer = await send();
    const handles = [answer].flat();
    // A unique job that was there before is another's.
    for (const [i, { id, created: isNew }] of handles.entries())
      if (isNew) note({ e: 'enqueued', ...about(jobs[i]), id, ...took() });
    return answer;
  } catch (error) {
    for (const job of jobs)
      note({ e: 'unsure', ...about(job), code: error.code ?? String(error), ...took() });
    return undefined;
  }
}

/** Before the job has begun, while it waits, or too late: during an outage it is tried again. */
async function signal(handle) {
  await sleep(random.int(0, 1500));
  for (let told; told === undefined;) {
    told = await handle.signal('go', 'now').catch((error) => {
      if (error.code === 'JOB_NOT_FOUND' || error.code === 'JOB_LOST') return false;
      return sleep(200);
    });
  }
}

async function cancel(handle, of) {
  const { fn, id } = handle;
  await sleep(random.int(0, 1500));
  const told = await handle.cancel().catch((error) => error.code ?? String(error));
  note({ e: 'cancel', fn, id, of, told });
}
