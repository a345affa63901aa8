// The keeper's thread: renews what the lease table holds and the worker's presence, whatever the main thread
// is busy with. Plain JavaScript, because a thread is started from a file as it is.
import { parentPort, workerData } from 'node:worker_threads';
import { Cluster, Redis } from 'ioredis';

/** Leases that one call renews. */
const CHUNK = 500;

/** @type {import('./lease-keeper.js').KeeperData} */
const { connection, worker, interval, lease, presence, scripts } = workerData;
const redis = connection.nodes
  ? new Cluster(connection.nodes, connection.options)
  : new Redis({ ...connection.options, retryStrategy: (times) => Math.min(times * 50, 500) });

/** @type {import('./lease-table.js').LeaseSegment[]} */
const segments = [];
/** @type {import('./lease-keeper.js').KeptFunction[]} */
let functions = [];
/** Leases of ids that are no numbers: "id:token" by the index of their function. @type {Map<number, Set<string>>} */
const named = new Map();
/** Functions that are seen to: on a cluster one whose master has failed must not hold up the others. */
const keeping = new Set();

redis.on('error', () => undefined);
redis.on('ready', keep);
const timer = setInterval(keep, interval);

parentPort.on('message', (message) => {
  if (message.segment) segments.push(message.segment);
  if (message.functions) functions = message.functions;
  if (message.hold) namedOf(message.hold.fn).add(message.hold.member);
  if (message.drop) namedOf(message.drop.fn).delete(message.drop.member);
  if (message.close) {
    clearInterval(timer);
    redis.disconnect();
    parentPort.close();
  }
});

function namedOf(fn) {
  if (!named.has(fn)) named.set(fn, new Set());
  return named.get(fn);
}

/** Each for itself: what fails is left to the next round, or to the connection's return. */
function keep() {
  if (redis.status !== 'ready') return;
  const held = heldByFunction();
  functions.forEach((fn, index) => void keepFunction(fn, held.get(index) ?? []));
}

async function keepFunction(fn, members) {
  if (keeping.has(fn.name)) return;
  keeping.add(fn.name);
  await Promise.allSettled([renewLeases(fn, members), signPresence(fn)]);
  keeping.delete(fn.name);
}

async function renewLeases(fn, members) {
  for (let from = 0; from < members.length; from += CHUNK) {
    const lost = await run(scripts.renew, [fn.leases], ['', lease, ...members.slice(from, from + CHUNK)]);
    if (lost.length > 0) parentPort.postMessage({ lost, fn: fn.name });
  }
}

function signPresence(fn) {
  return run(scripts.presence, [fn.count, fn.workers], ['', worker, presence]);
}

function heldByFunction() {
  const now = Date.now();
  const held = new Map([...named].map(([fn, members]) => [fn, [...members]]));
  for (const { fn, id, token, deadline } of segments) {
    for (let row = 0; row < token.length; row++) {
      const holder = token[row];
      if (holder === 0 || deadline[row] < now) continue;
      const member = `${id[row]}:${holder}`;
      // Written anew meanwhile: the new lease is young enough to wait for the next round.
      if (token[row] !== holder) continue;
      if (!held.has(fn[row])) held.set(fn[row], []);
      held.get(fn[row]).push(member);
    }
  }
  return held;
}

async function run({ sha, text }, keys, args) {
  try {
    return await redis.evalsha(sha, keys.length, ...keys, ...args);
  } catch (error) {
    if (!String(error.message).startsWith('NOSCRIPT')) throw error;
    return redis.eval(text, keys.length, ...keys, ...args);
  }
}
