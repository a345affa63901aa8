// Figures of one server, and of masters of a cluster: `npm run check -- scaling`. Redis' CPU time for each job says how
// many jobs a master can take, which a machine where clients and servers share two cores does not.
import 'reflect-metadata';
import { cpus, loadavg } from 'node:os';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { GearMonkeyClient, GearMonkeyModule, Worker } from '../../dist/index.js';
import { taggedKeysOf } from '../../lib/gearmonkey/core/wire/hash-tags.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { RedisServer } from '../support/redis-server.js';

const ROUNDS = 3;
const JOBS = 20_000;
const IN_FLIGHT = 100;
const HOLDER = 'holder';
const REPLICA = 'a replica';
const PAYLOAD = { to: 'ada@example.com', subject: 'x'.repeat(60), retries: 3, tags: ['a', 'b'] };

type Options = Parameters<typeof GearMonkeyModule.forRoot>[0];

interface Place {
  readonly name: string;
  readonly options: Options;
  /** A function for each master that takes part. */
  readonly functions: readonly string[];
  readonly nodes: readonly { readonly redis: Redis; readonly role: string }[];
}

interface Figures {
  readonly enqueue: number;
  readonly process: number;
  /** Microseconds of a node's CPU, by its role: of holders for each of their own jobs, of others for each job. */
  readonly cpu: Readonly<Record<string, number>>;
  /** Bytes that a finished job takes. */
  readonly memory: number;
}

async function measure({ options, functions, nodes }: Place): Promise<Figures> {
  const app = await start(options, []);
  const client = app.get(GearMonkeyClient);
  const count = JOBS * functions.length;
  const before = await cpuOf(nodes);
  const empty = await memoryOf(nodes);
  const enqueue = await timed(() => Promise.all(functions.map((fn) => enqueueAll(client, fn))));
  const run = await timed(() => runAll(options, functions, count));
  const after = await cpuOf(nodes);
  const memory = ((await memoryOf(nodes)) - empty) / count;
  await app.close();
  const share = (role: string) => (role === HOLDER ? 1 : nodes.filter((node) => node.role === role).length);
  const cpu = Object.fromEntries(
    [...after].map(([role, us]) => [role, (us - (before.get(role) ?? 0)) / count / share(role)]),
  );
  return { enqueue: count / enqueue, process: count / run, cpu, memory };
}

async function enqueueAll(client: GearMonkeyClient, fn: string): Promise<void> {
  let left = JOBS;
  const lane = async () => {
    while (left-- > 0) await client.run(fn, PAYLOAD);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
}

async function runAll(options: Options, functions: readonly string[], count: number): Promise<void> {
  let left = count;
  let done = (): void => undefined;
  const all = new Promise<void>((resolve) => (done = resolve));
  const handlers = functions.map((fn) => {
    class Handler {
      run(input: unknown): unknown {
        if (--left === 0) done();
        return input;
      }
    }
    Worker(fn, { concurrency: IN_FLIGHT })(Handler.prototype, 'run', descriptorOf(Handler));
    return Handler;
  });
  const app = await start(options, handlers);
  await all;
  await app.close();
}

function descriptorOf(handler: { prototype: object }): TypedPropertyDescriptor<(input: unknown) => unknown> {
  return Object.getOwnPropertyDescriptor(handler.prototype, 'run') as TypedPropertyDescriptor<
    (input: unknown) => unknown
  >;
}

function start(options: Options, providers: (new () => object)[]) {
  class App {}
  Module({ imports: [GearMonkeyModule.forRoot(options)], providers })(App);
  return NestFactory.createApplicationContext(App, { logger: ['warn'], abortOnError: false });
}

async function cpuOf(nodes: Place['nodes']): Promise<Map<string, number>> {
  const sums = new Map<string, number>();
  for (const { redis, role } of nodes) {
    const info = await redis.info('cpu');
    const seconds = [...info.matchAll(/used_cpu_(?:sys|user):([\d.]+)/g)].map(([, value]) => Number(value));
    sums.set(role, (sums.get(role) ?? 0) + 1e6 * seconds.reduce((sum, value) => sum + value, 0));
  }
  return sums;
}

async function memoryOf(nodes: Place['nodes']): Promise<number> {
  const holders = nodes.filter(({ role }) => role === HOLDER);
  const used = holders.map(async ({ redis }) => /used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
  return (await Promise.all(used)).reduce((sum, bytes) => sum + Number(bytes), 0);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const since = performance.now();
  await work();
  return (performance.now() - since) / 1000;
}

interface Opened {
  readonly place: Place;
  readonly stop: () => Promise<void>;
}

async function single(replicas: number): Promise<Opened> {
  const server = await RedisServer.start(['--repl-diskless-sync-delay', '0']);
  const replicaOf = ['--replicaof', '127.0.0.1', `${server.port}`];
  const others = await Promise.all(Array.from({ length: replicas }, () => RedisServer.start(replicaOf)));
  const nodes = [server, ...others].map(({ url }, i) => ({
    redis: new Redis(url),
    role: i === 0 ? HOLDER : REPLICA,
  }));
  const place = {
    name: replicas > 0 ? 'one server with a replica' : 'one server',
    options: { connection: server.url },
    functions: ['scaling'],
    nodes,
  };
  return {
    place,
    stop: async () => {
      for (const { redis } of nodes) redis.disconnect();
      await Promise.all([server, ...others].map((each) => each.stop()));
    },
  };
}

/** A cluster, and functions of which each lies on a master of its own. */
async function clustered(masters: number): Promise<Opened> {
  const cluster = await RedisCluster.start();
  const found = new Map<number, string>();
  for (let i = 0; found.size < masters; i++) {
    const { server } = await cluster.masterOf(taggedKeysOf(`scaling-${i}`).jobs);
    if (!found.has(server.port)) found.set(server.port, `scaling-${i}`);
  }
  const holders = await cluster.masters();
  const roleOf = (port: number) => {
    if (found.has(port)) return HOLDER;
    return holders.some(({ server }) => server.port === port) ? 'another master' : REPLICA;
  };
  const place = {
    name: `a cluster of 3 masters and 3 replicas, functions on ${masters}`,
    options: { connection: { nodes: cluster.nodes }, hashTag: true },
    functions: [...found.values()],
    nodes: cluster.members.map(({ redis, server }) => ({ redis, role: roleOf(server.port) })),
  };
  return { place, stop: () => cluster.stop() };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

console.log(
  `${cpus().length} cores of ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}, Node ${process.version}`,
);
for (const open of [() => single(0), () => single(1), () => clustered(1), () => clustered(3)]) {
  const { place, stop } = await open();
  const rounds: Figures[] = [];
  await measure(place);
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measure(place));
  await stop();
  console.log(place.name);
  console.log(
    `  enqueue, ${IN_FLIGHT} in flight     ${Math.round(median(rounds.map((r) => r.enqueue)))} jobs/s`,
  );
  console.log(
    `  process, concurrency ${IN_FLIGHT}  ${Math.round(median(rounds.map((r) => r.process)))} jobs/s`,
  );
  console.log(`  memory of a finished job   ${Math.round(median(rounds.map((r) => r.memory)))} bytes`);
  for (const role of Object.keys(rounds[0]?.cpu ?? {})) {
    console.log(`  Redis CPU, ${role}: ${median(rounds.map((r) => r.cpu[role] ?? 0)).toFixed(1)} us/job`);
  }
}
