import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { RedisSource } from '../../lib/gearmonkey/redis-source.js';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import type { Claim } from '../../lib/job/job-source.js';
import { SlotTable } from '../../lib/worker/function-slots.js';
import { CommandTrace, type Traced } from '../support/command-trace.js';
import { LossyProxy } from '../support/lossy-proxy.js';
import { eventually } from '../support/until.js';
import { RedisActors } from './redis-rig.js';
import { useGearMonkey } from './use-gearmonkey.js';

/** The longest time of a leader that other workers believe in: it is renewed. */
const HOLD_MS = 10_000;
const RENEW_MS = 1000;

describe('A worker that waits for jobs of a function that another worker leads', () => {
  const rig = useGearMonkey();
  const toClose: { close(): unknown }[] = [];
  let trace: CommandTrace;
  let sent: Traced[];
  let [fn, other] = ['', ''];
  let renewal: NodeJS.Timeout;

  beforeAll(async () => void (trace = await CommandTrace.start(rig.redis)));
  afterAll(() => trace.stop());
  beforeEach(async () => {
    [fn, other] = [rig.fn(), rig.fn()];
    const leaders = [fn, other].map((led) => keysOf(led).leader);
    const lead = () => Promise.all(leaders.map((key) => rig.redis.set(key, 'another', 'PX', HOLD_MS)));
    await lead();
    renewal = setInterval(() => void lead(), RENEW_MS);
    await trace.take();
    sent = [];
  });
  afterEach(async () => {
    clearInterval(renewal);
    for (const each of toClose.splice(0).toReversed()) await each.close();
  });

  /** Calls of clients up to now, and not of scripts. */
  async function calls(name: string): Promise<Traced[]> {
    sent.push(...(await trace.take()));
    return sent.filter((call) => call.name === name && call.source !== 'lua');
  }

  /** A source that waits for these functions, with a claim of the first one behind its blocking call. */
  async function waits(functions: readonly string[], source: RedisSource = rig.source()) {
    toClose.push(source);
    await source.open(functions);
    const slots = new SlotTable();
    const claimed: Claim[] = [];
    const stop = new AbortController();
    void source.claim(slots, stop.signal).then((claims) => claimed.push(...claims));
    for (const free of functions) {
      slots.set(free, 1);
      await eventually(async () =>
        expect((await calls('blpop')).at(-1)?.args ?? []).toContain(keysOf(free).wake),
      );
    }
    return { source, slots, stop, claimed };
  }

  it('waits no longer than until the next scheduled job is due', async () => {
    const delay = 700;
    await rig.client.run(fn, 'x', { delay });
    const { claimed } = await waits([fn]);
    const [wait] = await calls('blpop');
    expect(Number(wait?.args.at(-1))).toBeLessThanOrEqual(delay / 1000);
    await eventually(() => expect(claimed).toHaveLength(1));
  });

  it('sets a marker again that came for a function without a free slot', async () => {
    const { slots } = await waits([fn, other]);
    slots.set(other, 0);
    await rig.client.run(other, 'x');
    await eventually(async () => expect(await rig.redis.exists(keysOf(other).wake)).toBe(1));
  });

  it('looks for jobs after its connection broke, perhaps with a marker in the reply', async () => {
    const proxy = await LossyProxy.start(rig.port);
    toClose.push({ close: () => proxy.stop() });
    const actors = new RedisActors(proxy.url);
    toClose.push(actors);
    const { claimed } = await waits([fn, other], actors.source());
    proxy.having = keysOf(other).wake;
    proxy.lose = 1;
    await rig.client.run(other, 'x');
    await eventually(() => expect(claimed).toMatchObject([{ fn: other, attempts: 1, stalls: 0 }]));
    expect(proxy.lost).toBe(1);
  });

  type Change = (source: RedisSource, slots: SlotTable, stop: AbortController) => unknown;
  it.each<[string, Change]>([
    ['another function has a free slot', (_, slots) => slots.set(other, 1)],
    [
      'it has stopped the function',
      (source, slots) => {
        slots.set(fn, 0);
        return source.withdraw([fn]);
      },
    ],
    ['it claims no more', (_, __, stop) => stop.abort()],
    ['it closes', (source) => source.close()],
  ])('ends its wait when %s', async (_, change) => {
    const { source, slots, stop } = await waits([fn]);
    await source.open([fn, other]);
    await change(source, slots, stop);
    await eventually(async () => expect(await calls('lpush')).toHaveLength(1));
    const [wait, claim] = [(await calls('blpop'))[0] as Traced, `job:${fn}:`];
    // The claim behind the wait is run when that has ended.
    const next = sent
      .slice(sent.indexOf(wait))
      .find(({ name, args }) => name === 'lpush' || args.includes(claim));
    const [key] = next?.args ?? [];
    expect([next?.name, wait.args.at(-2)]).toEqual(['lpush', key]);
    expect((await calls('expire')).map(({ args }) => args)).toEqual([[key, '2']]);
  });
});
