import { describe, expect, it } from '@jest/globals';
import { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import type { Clock } from '../../lib/job/clock.js';
import { EmbeddedServer } from '../../lib/embedded/embedded-server.js';
import { openEmbedded } from '../../lib/embedded/open-embedded.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually } from '../support/until.js';

const HOUR_MS = 3_600_000;

/** A clock that a test moves. */
class HandClock implements Clock {
  time = Math.round(Date.now() / HOUR_MS) * HOUR_MS;
  private readonly timers = new Set<{ at: number; callback: () => void }>();

  now(): number {
    return this.time;
  }

  elapsed(): number {
    return this.time;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.time + ms, callback };
    this.timers.add(timer);
    return () => void this.timers.delete(timer);
  }

  get armed(): number {
    return this.timers.size;
  }

  advance(ms: number): void {
    this.time += ms;
    for (const timer of [...this.timers].filter(({ at }) => at <= this.time))
      if (this.timers.delete(timer)) timer.callback();
  }
}

describe('A source and a store with a clock of their own', () => {
  stopWorkersAfterEach();

  function rig() {
    const clock = new HandClock();
    const { store, source } = openEmbedded(new EmbeddedServer(clock), { clock });
    return {
      clock,
      client: new GearMonkeyClient(Object.assign(store, { clock })),
      source: Object.assign(source, { clock }),
    };
  }

  it('have the timeouts of jobs go by it', async () => {
    const { clock, client, source } = rig();
    let aborted: unknown;
    await runWorker(
      source,
      'hangs',
      (_, job) =>
        new Promise(() => job.signal.addEventListener('abort', () => (aborted = job.signal.reason))),
      { timeout: '1h' },
    );
    const job = await client.run('hangs', 1);
    await eventually(() => expect(clock.armed).toBe(1));
    const created = new Date(clock.time);
    clock.advance(HOUR_MS);
    await eventually(async () => expect((await job.get()).error?.code).toBe('JOB_TIMEOUT'));
    expect(aborted).toMatchObject({ code: 'JOB_TIMEOUT' });
    expect((await job.get()).times.created).toEqual(created);
  });

  it('take an output that is in time by it, however long it took', async () => {
    const { client, source } = rig();
    const end = performance.now() + 20;
    await runWorker(
      source,
      'slow',
      () => {
        while (performance.now() < end);
        return 'done';
      },
      { timeout: 1 },
    );
    await expect(client.call('slow', 1)).resolves.toBe('done');
  });

  it('have waits for a job go by it', async () => {
    const { clock, client } = rig();
    const called = client.call('nobody', 1, { timeout: '1h' });
    await eventually(() => expect(clock.armed).toBe(1));
    clock.advance(HOUR_MS);
    await expect(called).rejects.toMatchObject({ code: 'WAIT_TIMEOUT' });
    expect(clock.armed).toBe(0);
  });
});
