// The keeper's thread: renews what the lease table holds, and gives signs of life, whatever the main thread
// is busy with. Plain JavaScript, because a thread is started from a file as it is.
import { parentPort, workerData } from 'node:worker_threads';
import { Cluster, Redis } from 'ioredis';

/** Leases that one call renews. */
const CHUNK = 500;

/** @type {import('./lease-keeper.js').KeeperOptions} */
const { connection, interval } = workerData;
const redis = connection.nodes
  ? new Cluster(connection.nodes, connection.options)
  : new Redis({ ...connection.options, retryStrategy: (times) => Math.min(times * 50, 500) });

/** @type {import('./lease-table.js').LeaseSegment[]} */
const segments = [];
/** @type {import('./lease-keeper.js').KeptGroup[]} */
let groups = [];
/** Deadlines of leases whose ids are no numbers, by "id:token", by the index of their group. @type {Map<number, Map<string, number>>} */
const named = new Map();
/** Groups that are seen to: on a cluster one whose master has failed must not hold up the others. */
const keeping = new Set();

redis.on('error', () => undefined);
redis.on('ready', keep);
const timer = setInterval(keep, interval);

parentPort.on('message', (message) => {
  if (message.segment) segments.push(message.segment);
  if (message.groups) groups = message.groups;
  if (message.hold) namedOf(message.hold.group).set(message.hold.member, message.hold.deadline);
  if (message.drop) namedOf(message.drop.group).delete(message.drop.member);
  if (message.close) {
    clearInterval(timer);
    redis.disconnect();
    parentPort.close();
  }
});

function namedOf(group) {
  if (!named.has(group)) named.set(group, new Map());
  return named.get(group);
}

/** Each for itself: what fails is left to the next round, or to the connection's return. */
function keep() {
  if (redis.status !== 'ready') return;
  const held = heldByGroup();
  groups.forEach((group, index) => void keepGroup(group, held.get(index) ?? []));
}

async function keepGroup(group, members) {
  if (keeping.has(group.name)) return;
  keeping.add(group.name);
  await Promise.allSettled([renewLeases(group, members), group.beat && run(group.beat)]);
  keeping.delete(group.name);
}

async function renewLeases({ name, renew }, members) {
  for (let from = 0; from < members.length; from += CHUNK) {
    const lost = await run(renew, members.slice(from, from + CHUNK));
    if (lost.length > 0) parentPort.postMessage({ lost, group: name });
  }
}

function heldByGroup() {
  const now = Date.now();
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
      // Written anew meanwhile: the new lease is young enough to wait for the next round.
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
