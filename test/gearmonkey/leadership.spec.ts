import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Leadership } from '../../lib/gearmonkey/core/source/leadership.js';
import { CallFailures } from '../../lib/gearmonkey/core/source/round-trips.js';
import { SourceKeep } from '../../lib/gearmonkey/features/keep/keep.js';
import { Housekeeping } from '../../lib/gearmonkey/features/views/housekeeping.js';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { eventually } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useGearMonkey } from './use-gearmonkey.js';

describe('Leadership of a function', () => {
  const server = useRedis();
  let fn: string;
  let commands: RedisConnection;
  let opened: Leadership[];
  /** What was reported to each worker. */
  let reported: string[];

  beforeEach(() => {
    fn = server.fn();
    commands = new RedisConnection(server.url, 'commands');
    [opened, reported] = [[], []];
  });
  afterEach(async () => {
    await Promise.all(opened.map((leadership) => leadership.close()));
    commands.close();
  });

  /** That of a worker that runs jobs of the function. */
  async function of(worker: string): Promise<Leadership> {
    await commands.ready();
    const report = (what: string) => (_: string, value?: unknown) => {
      if (value !== -1 && value !== false) reported.push(`${worker}: ${what}`);
    };
    const housekeeper = () => new Housekeeping(keysOf, new SourceKeep(), () => commands.ready());
    const leadership = new Leadership({
      ...{ commands, worker, keysOf, housekeeper, failures: new CallFailures(), idle: () => [] },
      duties: [
        {
          found: (_, looked) =>
            void reported.push(`${worker}: tick ${looked.tick >= 0}, flows ${looked.flows}`),
        },
      ],
      ...{ onDue: report('due'), onListen: report('listen') },
    });
    opened.push(leadership);
    return leadership;
  }

  /** Asks for it at once, and not with the next beat. */
  const elect = async (leadership: Leadership) => {
    await leadership['elect']([fn]);
    return leadership.isLeader(fn);
  };

  it('belongs to one worker, also if it has no time to wait for jobs', async () => {
    const [one, other] = [await of('one'), await of('other')];
    one.serve(fn);
    await eventually(() => expect(one.isLeader(fn)).toBe(true));
    expect([await elect(other), await elect(one)]).toEqual([false, true]);
  });

  it('is given up by a worker that leaves while it asks for it', async () => {
    const one = await of('one');
    one.serve(fn);
    const asked = one['elect']([fn]);
    await Promise.all([one.leave(fn), asked]);
    expect([one.isLeader(fn), await server.redis.exists(keysOf(fn).leader)]).toEqual([false, 0]);
  });

  it('is given up by a worker that closes while it asks for it', async () => {
    const one = await of('one');
    const asked = one['elect']([fn]);
    await Promise.all([one.close(), asked]);
    expect(await server.redis.exists(keysOf(fn).leader)).toBe(0);
  });

  it('ends for a worker that was away while another took it', async () => {
    const [one, other] = [await of('one'), await of('other')];
    expect(await elect(one)).toBe(true);
    await server.redis.del(keysOf(fn).leader);
    expect([await elect(other), await elect(one)]).toEqual([true, false]);
  });

  it.each(['leave', 'close'] as const)('is free for others at once after `%s`', async (ending) => {
    const [one, other] = [await of('one'), await of('other')];
    expect(await elect(one)).toBe(true);
    await one[ending](fn);
    expect(await elect(other)).toBe(true);
  });

  it('has scheduled jobs, ticks, plain clients and flows reported to the leader alone', async () => {
    const later = Date.now() + 3_600_000;
    const { scheduled, ticks, plain, members } = keysOf(fn);
    await server.redis.zadd(scheduled, later / 1000, '1');
    await server.redis.zadd(ticks, later, 'tick');
    await server.redis.set(plain, '1');
    await server.redis.zadd(members, 1, '1');
    const [one, other] = [await of('one'), await of('other')];
    expect([await elect(one), await elect(other)]).toEqual([true, false]);
    expect(reported.toSorted()).toEqual(['one: due', 'one: listen', 'one: tick true, flows true']);
  });
});

describe('A worker without a free slot from the start', () => {
  const rig = useGearMonkey();

  it('leads its function, if no other does', async () => {
    const fn = rig.fn();
    const source = rig.source();
    await source.open([fn]);
    await eventually(async () => expect(await rig.redis.exists(keysOf(fn).leader)).toBe(1));
    await source.close();
  });
});
