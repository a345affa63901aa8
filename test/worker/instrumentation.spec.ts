import { afterEach, describe, expect, it } from '@jest/globals';
import { AsyncLocalStorage } from 'node:async_hooks';
import { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { instrumentation, subscribeTo, type RunEvent } from '../../lib/job/instrumentation.js';
import type { JobSource } from '../../lib/job/job-source.js';
import { embeddedServer, openEmbedded, type Embedded } from '../../lib/embedded/open-embedded.js';
import { gate } from '../support/gate.js';
import { useRecordedEvents } from '../support/recorded-events.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';
import { eventually } from '../support/until.js';

/** Counts reads of `system`, which only events have. */
function counted<T extends object>(object: T): { readonly object: T; readonly made: () => number } {
  let made = 0;
  const system = {
    get: () => {
      made += 1;
      return 'counted';
    },
  };
  return { object: Object.defineProperty(object, 'system', system), made: () => made };
}

const WAIT = { timeout: '60s' } as const;

describe('instrumentation', () => {
  const record = useRecordedEvents();
  const stops: (() => void)[] = [];
  stopWorkersAfterEach();
  afterEach(() => stops.splice(0).forEach((stop) => stop()));

  function embedded(): Embedded & { client: GearMonkeyClient } {
    const opened = openEmbedded(embeddedServer('memory:'));
    return { ...opened, client: new GearMonkeyClient(opened.store) };
  }

  it('makes no event without a subscriber', async () => {
    const { source, store, client } = embedded();
    const [worker, enqueuing] = [counted<JobSource>(source), counted(store)];
    await runWorker(worker.object, 'fn', () => 'done');
    await client.call('fn', 'x', WAIT);
    await client.runMany('other', ['x', 'y']);
    expect([worker.made(), enqueuing.made()]).toEqual([0, 0]);
    record('enqueue', 'run');
    await client.call('fn', 'x', WAIT);
    expect([worker.made(), enqueuing.made()]).toEqual([1, 1]);
  });

  it('publishes what is enqueued, with the ids at the end', async () => {
    const { client } = embedded();
    const seen = record('enqueue');
    const [one, two] = await client.runMany('fn', ['x', 'y']);
    const event = { system: 'memory', server: 'memory:', fn: 'fn', count: 2, ids: [one?.id, two?.id] };
    expect(seen.find(({ on }) => on === 'enqueue:asyncEnd')?.event).toMatchObject(event);
  });

  it('publishes why an enqueue was refused', async () => {
    const { client } = embedded();
    const seen = record('enqueue');
    await expect(client.run('fn', 1n)).rejects.toMatchObject({ code: 'NOT_SERIALIZABLE' });
    expect(seen.map(({ on }) => on)).toEqual([
      'enqueue:start',
      'enqueue:end',
      'enqueue:error',
      'enqueue:asyncStart',
      'enqueue:asyncEnd',
    ]);
    expect(seen[0]?.event).toMatchObject({ error: { code: 'NOT_SERIALIZABLE' } });
  });

  it.each([
    ['reach the job', { trace: 'a' }, {}, { trace: 'a' }],
    ['go behind those of the call', { trace: 'a' }, { trace: 'own' }, { trace: 'own' }],
    ['are left out if they are too large', { trace: 'a'.repeat(8192) }, { own: 'b' }, { own: 'b' }],
    ['are left out if they are no texts', { trace: 7 }, { own: 'b' }, { own: 'b' }],
  ])('headers of a subscriber %s', async (_, added, own, expected) => {
    const { client } = embedded();
    stops.push(
      subscribeTo(instrumentation.enqueue, {
        start: ({ headers }) => Object.assign(headers ?? {}, added),
      }),
    );
    const job = await client.run('fn', 'x', { headers: own });
    expect({ ...(await job.get()).headers }).toEqual(expected);
  });

  it('runs the handler in the context of a subscriber', async () => {
    const { source, client } = embedded();
    const store = new AsyncLocalStorage<string>();
    const start = (event: RunEvent) => (event.runIn = (run) => store.run('traced', run));
    stops.push(subscribeTo(instrumentation.run, { start }));
    await runWorker(source, 'fn', async () => {
      await Promise.resolve();
      return store.getStore();
    });
    await expect(client.call('fn', 'x', WAIT)).resolves.toBe('traced');
  });

  it('runs the handler in the stores that are bound to the channel', async () => {
    const { source, client } = embedded();
    const store = new AsyncLocalStorage<string>();
    instrumentation.run.start.bindStore(store, ({ claim }: RunEvent) => `run of ${claim.fn}`);
    try {
      await runWorker(source, 'fn', () => store.getStore());
      await expect(client.call('fn', 'x', WAIT)).resolves.toBe('run of fn');
    } finally {
      instrumentation.run.start.unbindStore(store);
    }
  });

  it('publishes that a running job was cancelled', async () => {
    const { source, client } = embedded();
    const seen = record('lease', 'run');
    const started = gate();
    await runWorker(source, 'fn', async (_, { signal }) => {
      started.open();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    const job = await client.run('fn', 'x');
    await started.passed;
    await job.cancel();
    await eventually(() => expect(seen.map(({ on }) => on)).toContain('lease:end'));
    const events = new Map(seen.map(({ on, event }) => [on, event]));
    expect(events.get('lease:start')).toMatchObject({ state: 'cancelled', claim: { id: job.id } });
    expect(events.get('run:asyncEnd')).toMatchObject({ end: 'cancelled' });
    expect(events.has('run:error')).toBe(false);
  });
});
