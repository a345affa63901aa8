import { describe, expect, it } from '@jest/globals';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { LossyProxy } from '../../support/lossy-proxy.js';
import { runWorker } from '../../support/run-worker.js';
import { eventually, until } from '../../support/until.js';
import { Program, stopProgramsAfterEach } from '../../support/worker-process.js';
import { useGearMonkey } from '../use-gearmonkey.js';

/** Two calls create so many jobs of a function. */
const CHILDREN = 220;
const LEASE_MS = 500;

describe('A flow', () => {
  const rig = useGearMonkey();
  stopProgramsAfterEach();

  /** What a flow of these functions says of itself; undefined once it is gone. */
  async function flowOf(fn: string): Promise<Record<string, string> | undefined> {
    const keys = (await rig.redis.keys(`job:${fn}:flow:*`)).filter((key) => !key.endsWith(':jobs'));
    return keys[0] === undefined ? undefined : rig.redis.hgetall(keys[0]);
  }

  // One call for the jobs of one function, two for those of the other, two for lists, and one that begins the flow.
  it.each([0, 1, 2, 3, 4, 5, 6])(
    'runs whole or not at all if its client is killed in call %i',
    async (pass) => {
      const [fn, other] = [rig.fn(), rig.fn()];
      const proxy = await LossyProxy.start(rig.port);
      const [ran, orders]: [string[], string[]] = [[], []];
      try {
        const program = await Program.start('test/gearmonkey/flows/flow-program.ts', {
          ...{ url: proxy.url, functions: [fn, other], children: CHILDREN },
        });
        Object.assign(proxy, { pass, lose: Infinity });
        program.tell('go');
        await until(() => proxy.lost > 0 || program.all('made').length > 0);
        await program.kill();
      } finally {
        proxy.stop();
      }
      const { total } = (await flowOf(fn)) ?? {};
      expect(total).toBe(pass < 5 ? undefined : String(CHILDREN + 2));
      // Its time would be up soon.
      if (total === undefined) await rig.redis.del(...(await rig.redis.keys(`job:${fn}:flow:*`)), 'none');
      for (const name of [fn, other])
        await runWorker(rig.source(), name, (input) => void ran.push(String(input)), { concurrency: 50 });
      const [k, l] = [keysOf(fn), keysOf(other)];
      await eventually(async () =>
        expect(await rig.redis.exists(k.members, k.scheduled, l.members, l.scheduled)).toBe(0),
      );
      orders.push(ran[0] ?? '', ran.at(-1) ?? '', String(ran.length));
      if (total === undefined) {
        expect(ran).toEqual([]);
        expect(await rig.redis.keys(`job:*${fn}:*`)).toEqual([]);
      } else {
        expect(orders).toEqual(['first', 'last', String(CHILDREN + 2)]);
        expect(await flowOf(fn)).toMatchObject({ done: String(CHILDREN + 2), failed: '0' });
      }
    },
  );

  it.each([1, 2, 3, 4, 6, 8, 12])('ends once if its worker is killed in call %i', async (pass) => {
    const fn = rig.fn();
    const proxy = await LossyProxy.start(rig.port);
    const last = { job: fn, input: { last: true } };
    const children = Array.from({ length: 8 }, () => ({ job: fn, input: {}, children: [last] }));
    let flow;
    try {
      const options = { url: proxy.url, fn, lease: LEASE_MS, concurrency: 3 };
      const program = await Program.start('test/gearmonkey/worker-program.ts', options);
      Object.assign(proxy, { pass, lose: Infinity });
      flow = await rig.client.flow({ job: fn, input: {}, children });
      await until(() => proxy.lost > 0);
      await program.kill();
    } finally {
      proxy.stop();
    }
    const lasts: unknown[] = [];
    const source = rig.source({ lease: LEASE_MS });
    await runWorker(source, fn, async (input, job) => {
      const parents = await job.parents();
      if ((input as { last?: boolean }).last)
        lasts.push(parents.filter(({ state }) => state === 'succeeded').length);
    });
    await eventually(async () =>
      expect(await flowOf(fn)).toMatchObject({ done: '10', failed: '0', total: '10' }),
    );
    // Those of the program that was killed are not seen here.
    expect(lasts.length).toBeLessThanOrEqual(1);
    for (const parents of lasts) expect(parents).toBe(8);
    await expect(flow.jobOf(last)?.get()).resolves.toMatchObject({ state: 'succeeded' });
  });
});
