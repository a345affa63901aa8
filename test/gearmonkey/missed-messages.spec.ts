import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { firstValueFrom, lastValueFrom, timeout, toArray } from 'rxjs';
import { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import type { EnqueuedKey, JobListener, Placement } from '../../lib/gearmonkey/core/client/job-store.js';
import { openConnections } from '../../lib/gearmonkey/redis-connections.js';
import { RedisStore } from '../../lib/gearmonkey/redis-store.js';
import type { Payload } from '../../lib/job/codec.js';
import { embeddedServer, openEmbedded } from '../../lib/embedded/open-embedded.js';
import { gate } from '../support/gate.js';
import { EmbeddedStore } from '../embedded/embedded-store.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { SlowLine } from '../support/slow-line.js';
import { eventually, until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { RedisActors } from './redis-rig.js';

/** A store whose messages may be lost, which is sent no outputs, and whose enqueues resolve when a test says so. */
class TroubledStore extends EmbeddedStore {
  deaf = false;
  /** Called in each read of jobs, which waits for it. */
  reading: () => Promise<void> = async () => undefined;
  refusal: Error | undefined;
  answered: Promise<void> = Promise.resolve();
  readonly listeners = new Set<JobListener>();

  override async enqueue(
    fn: string,
    inputs: readonly Payload[],
    placement: Placement,
  ): Promise<EnqueuedKey[]> {
    const keys = await super.enqueue(fn, inputs, placement);
    await this.answered;
    return keys;
  }

  override async read(fn: string, ids: readonly string[]) {
    const found = await super.read(fn, ids);
    await this.reading();
    return found;
  }

  override listen(fn: string, listener: JobListener): Promise<() => void> {
    if (this.refusal) return Promise.reject(this.refusal);
    this.listeners.add(listener);
    const { replied: _, ...heard } = listener;
    return super.listen(fn, {
      ...heard,
      event: (event) => {
        if (!this.deaf) listener.event(event);
      },
    });
  }
}

describe('A call whose enqueue is answered after its job has finished', () => {
  stopWorkersAfterEach();

  async function setUp() {
    const server = embeddedServer('memory:');
    const store = new TroubledStore(server);
    const client = new GearMonkeyClient(store);
    await runWorker(openEmbedded(server).source, 'fn', (input) => input);
    await client.call('fn', 'first');
    return { store, client };
  }

  it.each([
    ['heard of it', false],
    ['missed the message, and is connected again', true],
  ])('returns: the client has %s', async (_, deaf) => {
    const { store, client } = await setUp();
    const answer = gate();
    store.answered = answer.passed;
    store.deaf = deaf;
    const calling = client.call('fn', 'x', { timeout: '10s' });
    await eventually(async () => expect((await client.get('fn', 2))?.state).toBe('succeeded'));
    store.deaf = false;
    if (deaf) for (const listener of store.listeners) listener.resync();
    answer.open();
    await expect(calling).resolves.toBe('x');
  });
});

describe('A call', () => {
  stopWorkersAfterEach();

  it('does not take the output of another job that had its id before a failover', async () => {
    const server = embeddedServer('memory:');
    const store = new TroubledStore(server);
    const client = new GearMonkeyClient(store);
    const answer = gate();
    store.answered = answer.passed;
    const calling = client.call('fn', 'x');
    await until(() => store.listeners.size > 0);
    for (const listener of store.listeners) {
      listener.replied?.({ id: '1', mark: 7 }, '"of another"');
      listener.event({ type: 'finish', fn: 'fn', id: '1' });
    }
    answer.open();
    await runWorker(openEmbedded(server).source, 'fn', () => 'of its own');
    await expect(calling).resolves.toBe('of its own');
    await client.close();
  });
});

describe('A watcher', () => {
  stopWorkersAfterEach();

  it('reads its job once more if a message comes while it does', async () => {
    const server = embeddedServer('memory:');
    const store = new TroubledStore(server);
    const client = new GearMonkeyClient(store);
    const { id } = await client.run('fn', 'x');
    const [begun, read] = [gate(), gate()];
    store.reading = async () => {
      begun.open();
      await read.passed;
    };
    const seen = lastValueFrom(client.watch('fn', id).pipe(toArray()));
    await begun.passed;
    await runWorker(openEmbedded(server).source, 'fn', () => 'out');
    await until(() => server.run('HEXISTS', [`job:fn:${id}`, 'finished']) === 1);
    read.open();
    expect((await seen).map(({ state }) => state)).toEqual(['waiting', 'succeeded']);
    await client.close();
  });
});

describe('A result of a job that waits for others', () => {
  stopWorkersAfterEach();

  it('tells that it has expired without a worker, though it was read while the others ended', async () => {
    const server = embeddedServer('memory:');
    const store = new TroubledStore(server);
    const client = new GearMonkeyClient(store);
    const near = new GearMonkeyClient(new EmbeddedStore(server));
    const [end, begun, read] = [gate(), gate(), gate()];
    await runWorker(openEmbedded(server).source, 'first', () => end.passed);
    const first = await client.run('first', 'x');
    const job = await client.run('fn', 'x', { after: [first], expires: 300 });
    store.reading = async () => {
      begun.open();
      await read.passed;
    };
    const result = job.result({ timeout: '20s' });
    await begun.passed;
    end.open();
    await eventually(async () => expect((await near.get('fn', job.id))?.waitsForJobs).toBeUndefined());
    read.open();
    await expect(result).rejects.toMatchObject({ cause: { code: 'JOB_EXPIRED' } });
    await client.close();
    await near.close();
  });
});

describe('A client that was refused a channel', () => {
  stopWorkersAfterEach();

  it('subscribes again with its next call, even after other calls', async () => {
    const server = embeddedServer('memory:');
    const store = new TroubledStore(server);
    const client = new GearMonkeyClient(store);
    await runWorker(openEmbedded(server).source, 'fn', (input) => input);
    store.refusal = new Error('not yours');
    await expect(client.call('fn', 1)).rejects.toThrow('not yours');
    await expect(client.result('fn', 1)).rejects.toThrow('not yours');
    store.refusal = undefined;
    await expect(client.call('fn', 2)).resolves.toBe(2);
    await client.close();
  });
});

describe('An outage that lasts longer than the timeout of a command', () => {
  const server = useRedis();
  const TIMEOUT_MS = 100;
  let line: SlowLine;
  let actors: RedisActors;
  stopWorkersAfterEach();

  beforeAll(() => {
    actors = new RedisActors(server.url);
  });
  afterAll(() => actors.close());

  /** Whose messages arrive, and whose commands go over a line that may be cut. */
  async function cutOff() {
    line = await SlowLine.start(server.port);
    const [commands, messages] = [openConnections(line.url), openConnections(server.url)];
    const client = new GearMonkeyClient(
      new RedisStore(commands.commands, messages.hub, { timeout: TIMEOUT_MS }),
    );
    return { client, isDown: () => commands.commands.isDown };
  }

  it('does not end observers and waiting calls', async () => {
    const fn = server.fn();
    const { client, isDown } = await cutOff();
    const end = gate<string>();
    await runWorker(actors.source(), fn, () => end.passed);
    const near = actors.client();
    const { id } = await near.run(fn, 'x');
    await eventually(async () => expect((await near.get(fn, id))?.state).toBe('running'));
    const result = client.result(fn, id);
    const progress = lastValueFrom(client.progress(fn, id).pipe(toArray()));
    const watched = lastValueFrom(client.watch(fn, id));
    await firstValueFrom(client.watch(fn, id));
    await eventually(async () =>
      expect(Number((await server.redis.pubsub('NUMSUB', `channel:${fn}`))[1])).toBe(1),
    );

    line.lead(1);
    line.cut();
    await until(isDown);
    const began = performance.now();
    end.open('out');
    await eventually(async () => expect((await near.get(fn, id))?.state).toBe('succeeded'));
    await until(() => performance.now() > began + 5 * TIMEOUT_MS);
    await expect(client.get(fn, id)).rejects.toMatchObject({ code: 'CONNECTION' });
    line.lead(server.port);

    await expect(result).resolves.toBe('out');
    await expect(watched).resolves.toMatchObject({ state: 'succeeded' });
    await expect(progress).resolves.toEqual([]);
    await client.close();
    await line.stop();
  });

  it('is not confused with a slow transfer: a large job is read once', async () => {
    const fn = server.fn();
    const { client } = await cutOff();
    const { id } = await actors.client().run(fn, 'x'.repeat(500_000));
    await runWorker(actors.source(), fn, () => 'out');
    await lastValueFrom(client.watch(fn, (await actors.client().run(fn, 'small')).id));
    await server.redis.config('RESETSTAT');
    line.throttle({ bandwidth: 10 });
    await expect(firstValueFrom(client.watch(fn, id))).resolves.toMatchObject({ id });
    await expect(client.result(fn, id)).resolves.toBe('out');
    await expect(client.get(fn, id)).rejects.toMatchObject({ code: 'CONNECTION' });
    const calls = async () =>
      Number(/cmdstat_hgetall:calls=(\d+)/.exec(await server.redis.info('commandstats'))?.[1]);
    // The last is given up, perhaps before it is on the server.
    await until(async () => (await calls()) >= 3);
    await expect(calls()).resolves.toBe(3);
    await client.close();
    await line.stop();
  });

  it('does not keep reading for observers that have unsubscribed', async () => {
    const fn = server.fn();
    const { client, isDown } = await cutOff();
    const { id } = await actors.client().run(fn, 'x');
    await firstValueFrom(client.watch(fn, id));
    line.lead(1);
    line.cut();
    await until(isDown);
    await expect(client.result(fn, id, { timeout: 200 })).rejects.toMatchObject({ code: 'WAIT_TIMEOUT' });
    await expect(lastValueFrom(client.watch(fn, id).pipe(timeout(200)))).rejects.toThrow('Timeout');
    line.lead(server.port);
    await expect(firstValueFrom(client.watch(fn, id))).resolves.toMatchObject({ state: 'waiting' });
    await client.close();
    await line.stop();
  });
});
