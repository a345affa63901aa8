// The lease keeper's thread. It renews the leases in the lease table and the worker's presence, even while the main
// thread is busy. Plain JavaScript, because a thread starts from a file as it is.
import { parentPort, workerData } from 'node:worker_threads';
import { Cluster, Redis } from 'ioredis';

/** After a refusal. Writes may come back for a moment only, in which others look for leases that have ended. */
const RETRY_MS = 200;
/** How many leases one call renews. */
const CHUNK = 500;

/** @type {import('./lease-keeper.js').LeaseThreadData} */
const { connection, interval, pulse } = workerData;
const retryStrategy = (times) => Math.min(times * 50, 500);
/** After a failover the old master answers READONLY; its host name or proxy may lead to the new one. */
const reconnectOnError = (error) => error.message.startsWith('READONLY');
const { redisOptions, ...options } = connection.options;
const redis = connection.nodes
  ? new Cluster(connection.nodes, {
      ...options,
      clusterRetryStrategy: retryStrategy,
      redisOptions: { ...redisOptions, reconnectOnError },
    })
  : new Redis({ ...options, retryStrategy, reconnectOnError, sentinelRetryStrategy: retryStrategy });

/** @type {import('./lease-keeper.js').LeaseSegment[]} */
const segments = [];
/** @type {import('./lease-keeper.js').LeaseGroup[]} */
let groups = [];
/** Deadlines of leases whose ids are no numbers, by "id:token", by the index of their group. @type {Map<number, Map<string, number>>} */
const named = new Map();
/** Groups with a renewal under way. Each is renewed by itself: a failed master of a cluster must not delay the others. */
const keeping = new Set();
let lastTrouble = '';
/** Set until the next round after a failure. @type {NodeJS.Timeout | undefined} */
let retry;

redis.on('error', (error) => {
  tell(error);
  // The database does not exist: ioredis would continue in database 0.
  if (error.command?.name === 'select') redis.disconnect(true);
});
redis.on('ready', () => void keep());
setInterval(() => void keep(), interval);

parentPort.on('message', (message) => {
  if (message.segment) segments.push(message.segment);
  if (message.groups) groups = message.groups;
  if (message.hold) namedOf(message.hold.group).set(message.hold.member, message.hold.deadline);
  if (message.drop) namedOf(message.drop.group).delete(message.drop.member);
});

/** The same as `sharedTime` in lease-thread.ts. */
function sharedTime() {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

function namedOf(group) {
  if (!named.has(group)) named.set(group, new Map());
  return named.get(group);
}

/** Records each round that renewed everything: the main thread reads it and need not renew then. */
async function keep() {
  if (redis.status !== 'ready') return;
  const began = sharedTime();
  const held = heldByGroup();
  const kept = await Promise.all(groups.map((group, index) => keepGroup(group, held.get(index) ?? [])));
  if (kept.every(Boolean)) pulse[0] = Math.max(pulse[0], began);
}

function keepAgain() {
  retry = undefined;
  void keep();
}

/** Renews one group. After a failure it is soon tried again, and with the next connection. */
async function keepGroup(group, members) {
  if (keeping.has(group.name)) return false;
  keeping.add(group.name);
  const results = await Promise.allSettled([renewLeases(group, members), group.beat && run(group.beat)]);
  keeping.delete(group.name);
  const failed = results.find(({ status }) => status === 'rejected');
  if (!failed) return true;
  tell(failed.reason);
  retry ??= setTimeout(keepAgain, RETRY_MS);
  return false;
}

/** Sends only message and code: an error of ioredis also holds the command, which may contain the password. */
function tell({ message, code }) {
  const trouble = message || code;
  if (trouble !== lastTrouble) parentPort.postMessage({ trouble });
  lastTrouble = trouble;
}

async function renewLeases({ name, renew }, members) {
  for (let from = 0; from < members.length; from += CHUNK) {
    const lost = await run(renew, members.slice(from, from + CHUNK));
    if (lost.length > 0) parentPort.postMessage({ lost, group: name });
  }
}

function heldByGroup() {
  const now = sharedTime();
  const held = new Map();
  const add = (group, member) => {
    if (!held.has(group)) held.set(group, []);
    held.get(group).push(member);
  };
  for (const [group, members] of named)
    for (const [member, deadline] of members) if (deadline >= now) add(group, member);
  for (const { group, id, token, deadline } of segments) {
    for (let row = 0; row < token.length; row++) {
      const holder = token[row];
      if (holder === 0 || deadline[row] < now) continue;
      const member = `${id[row]}:${holder}`;
      // The row holds a new lease by now, which is young enough to wait for the next round.
      if (token[row] === holder) add(group[row], member);
    }
  }
  return held;
}

async function run({ script: { sha, text }, keys, args }, members = []) {
  try {
    return await redis.evalsha(sha, keys.length, ...keys, ...args, ...members);
  } catch (error) {
    if (!String(error.message).startsWith('NOSCRIPT')) throw error;
    return redis.eval(text, keys.length, ...keys, ...args, ...members);
  }
}
