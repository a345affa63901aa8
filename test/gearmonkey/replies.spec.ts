import { describe, expect, it } from '@jest/globals';
import { defineJob } from '../../lib/job/job-definition.js';
import { runWorker } from '../support/run-worker.js';
import { eventually } from '../support/until.js';
import { useGearMonkey } from './use-gearmonkey.js';

const CALLS = 20;

describe('The output of a call', () => {
  const rig = useGearMonkey();

  /** How often jobs were read while `action` ran. */
  async function readsOf(action: () => Promise<unknown>): Promise<number> {
    await rig.redis.config('RESETSTAT');
    await action();
    const [, count] = /cmdstat_hgetall:calls=(\d+)/.exec(await rig.redis.info('commandstats')) ?? [];
    return Number(count ?? 0);
  }

  async function inTurn(call: (i: number) => Promise<unknown>) {
    for (let i = 0; i < CALLS; i++) await call(i);
  }

  it.each([undefined, { priority: 'high' as const }])(
    'comes with a message, so the job is not read: %j',
    async (options) => {
      const fn = rig.fn();
      await runWorker(rig.source(), fn, (input) => ({ doubled: 2 * (input as number) }));
      await rig.client.call(fn, 0);
      // A connection that a busy machine replaces meanwhile has a job read: then the calls are made again.
      await eventually(async () => {
        const outputs: unknown[] = [];
        const reads = await readsOf(() =>
          inTurn(async (i) => outputs.push(await rig.client.call(fn, i, options))),
        );
        expect(outputs).toEqual(Array.from({ length: CALLS }, (_, i) => ({ doubled: 2 * i })));
        expect(reads).toBe(0);
      });
    },
  );

  it.each([
    ['colons, lines and no ASCII', 'a:b\n1:ü🐒'],
    ['nothing', ''],
    ['a string of JSON', '{"x":1}'],
    ['more than a message takes', 'x'.repeat(100_000)],
  ])('is what the handler returned: %s', async (_, output) => {
    const fn = rig.fn();
    await runWorker(rig.source(), fn, () => output);
    await expect(rig.client.call(fn, 'x')).resolves.toBe(output);
    await expect(rig.client.call(fn, 'x')).resolves.toBe(output);
  });

  it('is read from the job if it is no text', async () => {
    const ref = defineJob<unknown, unknown>(rig.fn(), { codec: 'msgpack' });
    const bytes = new Uint8Array([0, 255, 128]);
    await runWorker(rig.source(), ref, () => bytes);
    rig.client.register(ref);
    await expect(rig.client.call(ref, 'x')).resolves.toEqual(bytes);
  });

  it('is not sent to an invalid client name', async () => {
    const fn = rig.fn();
    const listener = rig.redis.duplicate();
    const heard: string[] = [];
    listener.on('pmessage', (_, channel: string) => heard.push(channel));
    await listener.psubscribe('*');
    const options = JSON.stringify({ reply: `x:evil channel` });
    await rig.redis.hset(`job:${fn}:7`, 'status', 'idle', 'input', '1', 'options', options);
    await rig.redis.lpush(`queue:${fn}:normal`, '7');
    await runWorker(rig.source(), fn, () => 'secret');
    await rig.client.result(fn, '7', { timeout: '20s' });
    listener.disconnect();
    expect(heard.filter((channel) => channel.startsWith('reply:'))).toEqual([]);
  });

  it('leaves no subscription behind', async () => {
    const fn = rig.fn();
    await runWorker(rig.source(), fn, (input) => input);
    await rig.client.call(fn, 'x');
    const { id } = await rig.client.run(fn, 'y', { blocking: true });
    await rig.client.result(fn, id);
    await eventually(async () =>
      expect(await rig.redis.pubsub('CHANNELS', `*:${fn}*`)).toEqual([`cancel:${fn}`]),
    );
  });

  it('reaches the right one of many callers', async () => {
    const fn = rig.fn();
    const others = rig.newClient();
    await runWorker(rig.source(), fn, (input) => input, { concurrency: 50 });
    const calls = Array.from({ length: 300 }, (_, i) => (i % 2 ? rig.client : others).call(fn, i));
    await expect(Promise.all(calls)).resolves.toEqual(Array.from({ length: 300 }, (_, i) => i));
  });
});
