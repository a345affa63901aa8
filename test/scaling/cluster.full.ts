import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { firstValueFrom } from 'rxjs';
import { taggedKeysOf } from '../../lib/gearmonkey/core/wire/hash-tags.js';
import { toPlainConnection } from '../../lib/redis/plain-connection.js';
import { SlotTable } from '../../lib/worker/function-slots.js';
import { claimOne, success } from '../contract/claiming.js';
import { PythonActor, stopActors } from '../conformance/python-actor.js';
import { RedisActors, subscriptions } from '../gearmonkey/redis-rig.js';
import { gate } from '../support/gate.js';
import { RedisCluster, type ClusterMember } from '../support/redis-cluster.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually, until } from '../support/until.js';

const LEASE_MS = 1500;
const FAILOVER_MS = 20_000;

describe('on a cluster', () => {
  let cluster: RedisCluster;
  let redis: Cluster;
  let actors: RedisActors;
  let names = 0;
  const newName = () => `fn-${++names}`;

  beforeAll(async () => {
    cluster = await RedisCluster.start();
    redis = cluster.client();
    actors = new RedisActors({ nodes: cluster.nodes }, true);
  });
  stopWorkersAfterEach();
  afterEach(stopActors);
  afterAll(async () => {
    actors.close();
    redis.disconnect();
    await cluster.stop();
  });

  const urlOf = async (fn: string) => (await cluster.masterOf(taggedKeysOf(fn).jobs)).server.url;
  /** Of our processes, each as `node id role`; those of an earlier test may still be ending. */
  const connections = async () => {
    const lists = await Promise.all(cluster.members.map((member) => member.redis.call('CLIENT', 'LIST')));
    return lists.flatMap((list, node) => {
      const found = String(list).matchAll(/^id=(\d+) .* name=nestjs-gearmonkey:(\w+)/gm);
      return [...found].map(([, id, role]) => `${node} ${id} ${role}`);
    });
  };

  it('a plain worker, which writes the braces itself, runs what our client enqueues', async () => {
    const fn = newName();
    const worker = new PythonActor('worker', [await urlOf(fn), `{${fn}}`]);
    await until(async () => (await worker.line()).ready);
    const client = actors.client();
    await expect(client.rollCall(fn)).resolves.toBe(1);
    await expect(client.call(fn, 'shout', { timeout: '10s' })).resolves.toBe('SHOUT');
  });

  it('our worker runs what a plain client enqueues, which gets the result', async () => {
    const fn = newName();
    await runWorker(actors.source(), fn, (input) => `${String(input)}, done`);
    const client = new PythonActor('client', [
      await urlOf(fn),
      `{${fn}}`,
      'plain',
      '--blocking',
      '--rollcall',
    ]);
    await client.line();
    const { job, lock } = await client.line();
    expect(lock).not.toBeNull();
    expect(job).toMatchObject({ status: 'success', output: '"plain, done"' });
  });

  it('a worker opens one blocking connection per slot, and at most one per node for the rest', async () => {
    const before = new Set(await connections());
    const source = actors.source();
    const functions = [...Array.from({ length: 12 }, newName), '{media}:cut', '{media}:scale'];
    await source.open(functions);
    const abort = new AbortController();
    const claiming = source.claim(new SlotTable(functions.map((fn) => [fn, 1])), abort.signal);
    const opened = async (role: string) =>
      (await connections()).filter((each) => !before.has(each) && each.endsWith(` ${role}`)).length;
    await eventually(async () => expect(await opened('blocking')).toBe(13));
    expect(await opened('commands')).toBeLessThanOrEqual(cluster.members.length);
    expect(await opened('subscriber')).toBe(1);
    abort.abort();
    await claiming;
    await source.close();
    await eventually(async () => expect(await opened('blocking')).toBe(0));
  });

  it('the settings of a Cluster are passed to the thread of the keeper, except functions', () => {
    const given = (options: object) => {
      const client = new Cluster(cluster.nodes, { lazyConnect: true, ...options });
      const { keeper } = toPlainConnection(client, 'keeper');
      client.disconnect();
      return keeper?.reveal();
    };
    expect(given({ redisOptions: { password: 'x' } })).toMatchObject({
      nodes: cluster.nodes,
      options: { redisOptions: { password: 'x', socketTimeout: 1500 } },
    });
    expect(given({ dnsLookup: () => undefined })).toBeUndefined();
  });

  it('a function whose slot moves to another master pauses, and continues there', async () => {
    const fn = newName();
    const { wake } = taggedKeysOf(fn);
    const client = actors.client();
    await runWorker(actors.source(), fn, (input) => input);
    await expect(client.call(fn, 'before', { timeout: '10s' })).resolves.toBe('before');
    const from = await cluster.masterOf(wake);
    const to = (await cluster.masters()).find((member) => member !== from) as ClusterMember;
    const move = await cluster.beginMove(wake, from, to);

    const during = client.call(fn, 'during', { timeout: '20s' });
    const refused = async () => (await from.redis.info('errorstats')).includes('errorstat_TRYAGAIN');
    await until(refused, { message: 'No client was asked to try again' });
    await move.finish();
    await expect(during).resolves.toBe('during');
    await expect(client.call(fn, 'after', { timeout: '10s' })).resolves.toBe('after');
    await expect(client.get(fn, 1)).resolves.toMatchObject({ output: 'before' });
  });

  it('a waiting call gets its result although the node of its subscription has died', async () => {
    const fn = newName();
    const [begun, end] = [gate(), gate()];
    await runWorker(actors.source(), fn, async () => {
      begun.open();
      await end.passed;
      return 'done';
    });
    const job = await actors.client().run(fn, 'x');
    await begun.passed;
    const result = job.result({ timeout: '60s' });
    const listened = await until(async () => {
      const held = await Promise.all(cluster.members.map((member) => subscriptions(member.redis, `{${fn}}`)));
      return cluster.members[held.indexOf(1)];
    });
    await cluster.fail(listened);
    end.open();
    await expect(result).resolves.toBe('done');

    await listened.server.restart();
    const isBack = async () => listened.redis.status === 'ready' && (await cluster.isWhole());
    await until(isBack, { timeout: FAILOVER_MS, message: 'The cluster did not become whole again' });
  });

  it('leases are renewed by the thread, and waiting calls and observers go on, after a master has failed', async () => {
    const fn = newName();
    const { leases } = taggedKeysOf(fn);
    const source = actors.source({ lease: LEASE_MS, presence: LEASE_MS }, { keeper: true });
    await source.open([fn]);
    const client = actors.client();
    const job = await client.run(fn, 'long');
    const claim = await claimOne(source, fn);
    const result = job.result({ timeout: '60s' });
    const expiry = async () => Number(await redis.zscore(leases, `${claim.id}:${claim.token}`));
    const renewed = async () => {
      const last = await expiry();
      await eventually(async () => expect(await expiry()).toBeGreaterThan(last), {
        timeout: FAILOVER_MS,
        message: 'It was not renewed',
      });
    };
    await renewed();

    const victim = await cluster.masterOf(leases);
    const replica = await cluster.replicaOf(victim);
    const events = firstValueFrom(client.events(fn));
    await cluster.fail(victim);
    const promoted = async () => (await replica.redis.role())[0] === 'master';
    await until(promoted, { timeout: FAILOVER_MS, message: 'No failover' });

    await renewed();
    await expect(source.settle([success(claim, '"done"')])).resolves.toEqual([]);
    await expect(result).resolves.toBe('done');
    await expect(events).resolves.toMatchObject({ fn });
    await source.close();
  });
});
