// The lease keeper's thread. It renews the leases in the lease table and the worker's presence, even while the main
// thread is busy. Plain JavaScript, because a thread starts from a file as it is.
import { parentPort, workerData } from 'node:worker_threads';
import { Cluster, Redis } from 'ioredis';

/** After a refusal. Writes may come back for a moment only, in which others look for leases that have ended. */
const RETRY_MS = 200;
/** Places in the pulse. */
const [REACHED, RENEWED] = [0, 1];
/** How many leases one call renews. */
const CHUNK = 500;
/** A claim goes back so long after its deadline, up to which the main thread may begin its job. */
const GIVE_BACK_MS = 500;

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
/** Deadlines, as in the table, of leases whose ids are no numbers, by "id:token", by the index of their group. @type {Map<number, Map<string, number>>} */
const named = new Map();
/** What was given back, until the main thread has heard of it. @type {Set<string>} */
let returned = new Set();
/** Groups with a renewal under way. Each is renewed by itself: a failed master of a cluster must not delay the others. */
const keeping = new Set();
let lastTrouble = '';
/** Set until the next round after a failure. @type {NodeJS.Timeout | undefined} */
let retry;

if (connection.nodes) redis.on('+node', attend);
else attend(redis);
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

/**
 * As in redis-connection.ts: a second error of a socket must not end the thread, and ioredis listens to it anew with each
 * READONLY. @param {Redis} client
 */
function attend(client) {
  client.on('connect', () => {
    client.stream.on('error', () => undefined);
    client.stream.setMaxListeners(0);
  });
}

/** The same as `sharedTime` in lease-thread.ts. */
function sharedTime() {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}

function namedOf(group) {
  if (!named.has(group)) named.set(group, new Map());
  return named.get(group);
}

/**
 * Records each round that renewed everything: the main thread reads it and need not renew then. What is lost stays in the table until
 * the main thread has heard of it; before that it must not take its leases for held.
 */
async function keep() {
  if (redis.status !== 'ready') return;
  const began = sharedTime();
  const { held, overdue } = heldByGroup();
  const kept = await Promise.all(
    groups.map((group, index) => keepGroup(group, held.get(index) ?? [], overdue.get(index) ?? [])),
  );
  if (kept.every((one) => one !== 'failed')) pulse[REACHED] = Math.max(pulse[REACHED], began);
  if (kept.every((one) => one === 'whole')) pulse[RENEWED] = Math.max(pulse[RENEWED], began);
}

function keepAgain() {
  retry = undefined;
  void keep();
}

/** Renews one group. Returns whether that failed, all of it is held, or some of it is lost. After a failure it is soon tried again, and with the next connection. */
async function keepGroup(group, members, overdue) {
  if (keeping.has(group.name)) return 'failed';
  keeping.add(group.name);
  const results = await Promise.allSettled([
    renewLeases(group, members),
    group.beat && run(group.beat),
    giveBack(group, overdue),
  ]);
  keeping.delete(group.name);
  const failed = results.find(({ status }) => status === 'rejected');
  if (!failed) return results[0].value ? 'whole' : 'lost';
  tell(failed.reason);
  retry ??= setTimeout(keepAgain, RETRY_MS);
  return 'failed';
}

/** Sends only message and code: an error of ioredis also holds the command, which may contain the password. */
function tell({ message, code }) {
  const trouble = message || code;
  if (trouble !== lastTrouble) parentPort.postMessage({ trouble });
  lastTrouble = trouble;
}

/** Returns whether all of them are held. */
async function renewLeases({ name, renew }, members) {
  let isWhole = true;
  for (let from = 0; from < members.length; from += CHUNK) {
    const lost = await run(renew, members.slice(from, from + CHUNK));
    if (lost.length > 0) parentPort.postMessage({ lost, group: name });
    isWhole &&= lost.length === 0;
  }
  return isWhole;
}

/** While the main thread is busy, claims go to other workers that wait there to begin. */
async function giveBack({ name, giveBack: call }, overdue) {
  if (!call || overdue.length === 0) return;
  // Newest first, so that the oldest ends up in front.
  overdue.sort((one, other) => idOf(other) - idOf(one));
  await run(
    call,
    overdue.flatMap((member) => [member, ...call.each]),
  );
  for (const member of overdue) returned.add(`${name} ${member}`);
  parentPort.postMessage({ returned: overdue, group: name });
}

function idOf(member) {
  return Number(member.slice(0, member.lastIndexOf(':'))) || 0;
}

/** The members to renew and those to give back, by the index of their group. */
function heldByGroup() {
  const now = sharedTime();
  const held = new Map();
  const overdue = new Map();
  const known = new Set();
  const add = (group, member, deadline) => {
    const isOver = Math.abs(deadline) < now;
    if (isOver && (deadline > 0 || now + deadline < GIVE_BACK_MS)) return;
    const key = `${groups[group]?.name} ${member}`;
    if (isOver && returned.has(key)) return void known.add(key);
    const list = isOver ? overdue : held;
    if (!list.has(group)) list.set(group, []);
    list.get(group).push(member);
  };
  for (const [group, members] of named)
    for (const [member, deadline] of members) add(group, member, deadline);
  for (const { group, id, token, deadline } of segments) {
    for (let row = 0; row < token.length; row++) {
      const holder = token[row];
      if (holder === 0) continue;
      const [member, until] = [`${id[row]}:${holder}`, deadline[row]];
      // The row holds a new lease by now, which is young enough to wait for the next round.
      if (token[row] === holder) add(group[row], member, until);
    }
  }
  returned = known;
  return { held, overdue };
}

async function run({ script: { sha, text }, keys, args }, members = []) {
  try {
    return await redis.evalsha(sha, keys.length, ...keys, ...args, ...members);
  } catch (error) {
    if (!String(error.message).startsWith('NOSCRIPT')) throw error;
    return redis.eval(text, keys.length, ...keys, ...args, ...members);
  }
}
