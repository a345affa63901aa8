import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Claim } from '../../lib/job/job-source.js';
import { LeaseThread } from '../../lib/redis/lease-keeper.js';
import { toPlainConnection, type PlainConnection } from '../../lib/redis/plain-connection.js';
import { scriptOf } from '../../lib/redis/script.js';
import { eventually, until } from '../support/until.js';
import { useRedis, useRedisServer } from '../support/use-redis.js';

const INTERVAL_MS = 10;
/** Most leases of a call. */
const CHUNK = 500;

/** Counts the renewals of each lease and of all calls, and says that leases with the token 9 are lost. */
const { sha, text } = scriptOf<[], string[]>(
  `redis.call('INCR', KEYS[1] .. ':calls')
  redis.call('ZADD', KEYS[1] .. ':sizes', #ARGV, #ARGV)
  local lost = {}
  for _, member in ipairs(ARGV) do
    redis.call('HINCRBY', KEYS[1], member, 1)
    if string.match(member, ':9$') then lost[#lost + 1] = member end
  end
  return lost`,
  () => [],
);

const { sha: backSha, text: backText } = scriptOf<[], unknown>(
  `return redis.call('RPUSH', KEYS[1], unpack(ARGV))`,
  () => [],
);
const ignore = () => undefined;

const claim = (id: string, token = 1): Claim => ({
  ...{ fn: 'fn', id, token, input: new Uint8Array() },
  ...{ attempts: 1, stalls: 0, options: {} },
});

describe('LeaseThread', () => {
  const server = useRedis();
  let key: string;
  let lost: string[];
  let returned: string[];
  let thread: LeaseThread;

  beforeEach(() => {
    key = server.fn('kept');
    lost = [];
    returned = [];
    const { keeper: connection } = toPlainConnection(server.url, 'keeper') as { keeper: PlainConnection };
    thread = new LeaseThread(
      { connection, interval: INTERVAL_MS },
      (group, members) => lost.push(...members.map((member) => `${group} ${member}`)),
      (error) => lost.push(error.message),
      (group, members) => returned.push(...members.map((member) => `${group} ${member}`)),
    );
    const renew = { script: { sha, text }, keys: [key], args: [] };
    const script = { sha: backSha, text: backText };
    const giveBack = { script, keys: [`${key}:back`], args: [], each: ['released', '', ''] };
    thread.setGroups([{ name: 'fn', renew, giveBack }]);
  });
  afterEach(() => thread.close());

  const renewals = async (member: string) => Number(await server.redis.hget(key, member));

  /** Until a lease that is held from now on has been renewed so often. */
  async function rounds(count: number, id: string): Promise<void> {
    thread.hold(claim(id), 'fn');
    await eventually(async () => expect(await renewals(`${id}:1`)).toBeGreaterThanOrEqual(count));
  }

  it.each(['7', 'a:b'])('renews a lease again and again until it is dropped: that of job %s', async (id) => {
    const held = claim(id);
    thread.hold(held, 'fn');
    await eventually(async () => expect(await renewals(`${id}:1`)).toBeGreaterThan(2));
    thread.drop(held);
    expect(thread['held'].size).toBe(0);
    // A round may be under way.
    await rounds(2, '8');
    const before = await renewals(`${id}:1`);
    await rounds(3, '9');
    await expect(renewals(`${id}:1`)).resolves.toBe(before);
  });

  it.each(['7', 'a:b'])('does not renew a lease whose time is up: that of job %s', async (id) => {
    const held = claim(id);
    thread.hold(held, 'fn');
    await rounds(1, '8');
    thread.setDeadline(held, 0);
    await rounds(2, '9');
    const before = await renewals(`${id}:1`);
    await rounds(3, '10');
    await expect(renewals(`${id}:1`)).resolves.toBe(before);
    thread.setDeadline(held, 60_000);
    await eventually(async () => expect(await renewals(`${id}:1`)).toBeGreaterThan(before));
  });

  it.each(['7', 'a:b'])('gives a claim back once if it waits for too long: that of job %s', async (id) => {
    const [held, begun] = [claim(id), claim(`${id}1`)];
    for (const one of [held, begun]) {
      thread.hold(one, 'fn');
      thread.setDeadline(one, 0, true);
    }
    thread.setDeadline(begun, Infinity);
    await eventually(() => expect(returned).toEqual([`fn ${id}:1`]));
    await rounds(3, '9');
    await expect(server.redis.lrange(`${key}:back`, 0, -1)).resolves.toEqual([`${id}:1`, 'released', '', '']);
    expect(returned).toHaveLength(1);
  });

  it('gives claims back newest first, so that the oldest is in front again', async () => {
    const ids = ['9', '10', '11'];
    for (const id of ids) {
      const held = claim(id);
      thread.hold(held, 'fn');
      thread.setDeadline(held, 0, true);
    }
    await eventually(() => expect(returned).toHaveLength(ids.length));
    const back = await server.redis.lrange(`${key}:back`, 0, -1);
    expect(back.filter((text) => text.endsWith(':1'))).toEqual(['11:1', '10:1', '9:1']);
  });

  it('does not say that all is renewed while the main thread holds what is lost', async () => {
    await rounds(2, '7');
    const gone = claim('8', 9);
    thread.hold(gone, 'fn');
    await until(() => lost.length > 0);
    const [known, told] = [thread.renewedAt, lost.length];
    await until(() => lost.length > told + 2);
    expect(thread.renewedAt).toBe(known);
    thread.drop(gone);
    await until(() => thread.renewedAt > known);
  });

  it('renews all leases, some hundred in a call', async () => {
    const ids = Array.from({ length: 2 * CHUNK + 7 }, (_, index) => `${index + 1}`);
    for (const id of ids) thread.hold(claim(id), 'fn');
    await eventually(async () => expect(await server.redis.hlen(key)).toBe(ids.length));
    const sizes = await server.redis.zrange(`${key}:sizes`, '0', '-1');
    expect(Math.max(...sizes.map(Number))).toBe(CHUNK);
  });

  it('tries again soon after refusals, not after the time from one renewal to the next', async () => {
    const { keeper: connection } = toPlainConnection(server.url, 'keeper') as { keeper: PlainConnection };
    const patient = new LeaseThread({ connection, interval: 3_600_000 }, ignore, ignore);
    const { sha: refused, text: refusing } = scriptOf<[], string[]>(
      `if redis.call('INCR', KEYS[1] .. ':tries') < 4 then return redis.error_reply('no') end
      redis.call('HSET', KEYS[1], ARGV[1], 1)
      return {}`,
      () => [],
    );
    patient.setGroups([
      { name: 'fn', renew: { script: { sha: refused, text: refusing }, keys: [key], args: [] } },
    ]);
    patient.hold(claim('7'), 'fn');
    await eventually(async () => expect(await renewals('7:1')).toBe(1));
    await patient.close();
  });

  it('reports leases that are lost', async () => {
    for (const [id, token] of [
      ['7', 9],
      ['8', 1],
      ['a', 9],
    ] as const)
      thread.hold(claim(id, token), 'fn');
    await eventually(() => expect(new Set(lost)).toEqual(new Set(['fn 7:9', 'fn a:9'])));
  });

  it('goes on after the server has forgotten its script, and after its connection broke', async () => {
    await rounds(1, '7');
    await server.redis.script('FLUSH');
    const flushed = await renewals('7:1');
    await eventually(async () => expect(await renewals('7:1')).toBeGreaterThan(flushed + 1));
    const list = String(await server.redis.client('LIST')).split('\n');
    const [, id = ''] = /id=(\d+) /.exec(list.find((line) => line.includes(':keeper ')) ?? '') ?? [];
    await server.redis.call('CLIENT', 'KILL', 'ID', id);
    const killed = await renewals('7:1');
    await eventually(async () => expect(await renewals('7:1')).toBeGreaterThan(killed + 1));
    expect(lost).toEqual([]);
  });

  it('has the time since it last renewed all leases', async () => {
    await rounds(2, '7');
    await eventually(() => expect(thread.age).toBeLessThan(10 * INTERVAL_MS));
  });
});

describe('LeaseThread of more than ten groups', () => {
  const server = useRedisServer();

  it('has Node warn of no listeners while its server refuses writes, and renews afterwards', async () => {
    const { keeper: connection } = toPlainConnection(server.url, 'keeper') as { keeper: PlainConnection };
    const thread = new LeaseThread({ connection, interval: INTERVAL_MS }, ignore, ignore);
    const warned: string[] = [];
    thread['thread'].stderr.on('data', (text) => warned.push(String(text)));
    const names = Array.from({ length: 12 }, (_, index) => server.fn(`kept-${index}`));
    const renew = (key: string) => ({ script: { sha, text }, keys: [key], args: [] });
    thread.setGroups(names.map((name) => ({ name, renew: renew(name) })));
    for (const name of names) thread.hold(claim('7'), name);
    const [last = ''] = names.slice(-1);
    const renewals = async () => Number(await server.redis.hget(last, '7:1'));
    await until(async () => (await renewals()) > 0);
    await server.redis.replicaof('127.0.0.1', '1');
    const refused = async () =>
      Number(/errorstat_READONLY:count=(\d+)/.exec(await server.redis.info('errorstats'))?.[1] ?? 0);
    await until(async () => (await refused()) > 3 * names.length);
    await server.redis.replicaof('NO', 'ONE');
    const before = await renewals();
    await until(async () => (await renewals()) > before);
    await thread.close();
    expect(warned.join('')).toBe('');
  });
});
