import { afterEach, describe, expect, it } from '@jest/globals';
import { JqEngine, type JqEngineOptions } from '../../../lib/jq/engine/engine.js';
import type { HandedJob } from '../../../lib/jq/engine/operations.js';
import { READING_MS } from '../../../lib/jq/engine/settings.js';
import { Raw } from '../../../lib/jq/message-pack/raw.js';
import { gate } from '../../support/gate.js';
import { holdEventLoop } from '../../support/hold-event-loop.js';
import { Relay } from '../../support/relay.js';
import { eventually, until } from '../../support/until.js';
import { useRedis } from '../../support/use-redis.js';

const JOB = {
  name: 'mail',
  priority: 0,
  maxRetry: 1,
  keepResult: false,
  timeout: 1,
  argument: Raw.EMPTY_MAP,
};
const WORKER_URL = 'http://127.0.0.1:1';
const MINUTE = 60_000;

describe('a turn whose reply is read late', () => {
  const used = useRedis();
  const closing: (() => unknown)[] = [];
  let now = 1_000_000_000;
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
    await used.redis.flushall();
  });

  const start = async (options: Pick<JqEngineOptions, 'connection' | 'onHanded'>) => {
    const engine = new JqEngine({ ...options, now: () => now });
    closing.push(() => engine.close());
    await engine.start();
    return engine;
  };

  const puller = async (engine: JqEngine) => String(await engine.register({ name: 'p', maxJobs: 1 }));

  /** A line to Redis on which the first reply to a turn with this text, or that has it, waits for the test. */
  const lineThatWaitsFor = async (text: string, side: 'asked' | 'replied') => {
    const relay = await Relay.to(used.port);
    closing.push(() => relay.close());
    const reached = gate();
    const held: (() => void)[] = [];
    let state: 'before' | 'holds' | 'after' = 'before';
    const look = (bytes: Buffer) => {
      if (state === 'before' && bytes.includes(text)) state = 'holds';
    };
    relay.join = (near, far) => {
      near.on('data', (bytes: Buffer) => {
        if (side === 'asked') look(bytes);
        far.write(bytes);
      });
      far.on('data', (bytes: Buffer) => {
        if (side === 'replied') look(bytes);
        if (state !== 'holds') return void near.write(bytes);
        held.push(() => near.write(bytes));
        reached.open();
      });
    };
    return {
      url: relay.url,
      reached: reached.passed,
      /** The reply already lies in the engine's socket while its process stands still. */
      stopProcess: () => {
        state = 'after';
        for (const write of held) write();
        holdEventLoop(READING_MS);
      },
    };
  };

  it('pushes no job, as a sweep may have given it to another worker meanwhile', async () => {
    const line = await lineThatWaitsFor(WORKER_URL, 'replied');
    const handed: HandedJob[] = [];
    const engine = await start({ connection: line.url, onHanded: (jobs) => handed.push(...jobs) });
    const worker = await engine.register({ name: 'w', maxJobs: 1, url: WORKER_URL });
    const enqueued = engine.enqueue(JOB);
    await line.reached;
    line.stopProcess();
    const id = await enqueued;
    await expect(engine.read(id)).resolves.toMatchObject({ status: 'queued' });
    expect(handed).toEqual([]);
    await expect(used.redis.hget(`{jq}:job:${id}`, 'state')).resolves.toBe('pushing');
    // At the second sweep at the latest: for Redis the stop may have been an outage.
    await eventually(() => {
      now += 10_000;
      engine.sweep();
      expect(handed).toContainEqual(expect.objectContaining({ id, worker, attempt: 2 }));
    });
  });

  it('brings a pull no job that another worker has by then', async () => {
    const line = await lineThatWaitsFor('accepted', 'asked');
    const [stopped, other] = [await start({ connection: line.url }), await start({ connection: used.url })];
    const end = new AbortController();
    const id = await other.enqueue(JOB);
    const late = stopped.pull(await puller(other), MINUTE, end.signal);
    await line.reached;
    const worker = await puller(other);
    const job = await until(() => {
      now += 10_000;
      other.sweep();
      return other.pull(worker, 0);
    });
    expect(job).toMatchObject({ id, worker, attempt: 2 });
    line.stopProcess();
    end.abort();
    await expect(late).resolves.toBeUndefined();
  });

  it('brings a pull a job that is still its worker’s, whose time counts from then', async () => {
    const line = await lineThatWaitsFor('accepted', 'asked');
    const stopped = await start({ connection: line.url });
    const id = await stopped.enqueue(JOB);
    const worker = await puller(stopped);
    const late = stopped.pull(worker, MINUTE);
    await line.reached;
    now += 2000;
    line.stopProcess();
    await expect(late).resolves.toMatchObject({ id, worker, attempt: 1 });
    await expect(used.redis.hget(`{jq}:job:${id}`, 'handed')).resolves.toBe(String(now));
  });
});
