import { beforeEach, describe, expect, it } from '@jest/globals';
import { keysOf } from '../../lib/gearmonkey/core/wire/protocol.js';
import { claim, enqueue, enqueueLimited } from '../gearmonkey/scripts/scripts.js';
import { CommandTrace } from '../support/command-trace.js';
import { eventually } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';

/** How many commands a claim may call at most, in those of a function without a limit. */
const MOST_COMMANDS = 2;
/** How long the server may take for it at most, in its times with one full key that has one job. */
const MOST_TIME = 1.5;
const KEYS = 10_000;
const WAITING = 1_000_000;
/** As many as one command of the test carries. */
const CHUNK = 1000;
const RULES = '1:::fair:';
/** Longer than a test. */
const LEASE_MS = 3_600_000;
/** Claims of each kind, taking turns, and how often they are repeated: a busy machine spoils some, a heavier script all. */
const [ROUNDS, TRIES] = [301, 5];

/** Fills a list with ids. Their jobs need not exist: no claim looks at them. */
const FILL = `
for from = 1, ARGV[1], 1000 do
  local ids = {}
  for id = from, from + 999 do ids[#ids + 1] = string.format('%.0f', 5000000 + id) end
  redis.call('LPUSH', KEYS[1], unpack(ids))
end`;

describe('While keys are full', () => {
  const server = useRedis();
  let fn: string;
  let unlimited: string;
  let small: string;
  beforeEach(() => void ([fn, unlimited, small] = [server.fn(), server.fn(), server.fn()]));

  const claimUpTo = async (of: string, slots: number, files: 0 | 1 = 1) =>
    (await claim(server.redis, of, { slots, files, recover: 0, lease: LEASE_MS })).claims;

  /** Each of 9,999 keys has a job that runs and one that waits. */
  async function fillKeys(): Promise<void> {
    for (let from = 1; from < KEYS; from += CHUNK) {
      const keys = Array.from({ length: Math.min(CHUNK, KEYS - from) }, (_, i) => `key-${from + i}`);
      await enqueueLimited(server.redis, fn, [...keys, ...keys], { rules: RULES });
    }
    await eventually(
      async () => {
        await claimUpTo(fn, CHUNK);
        expect(await server.redis.zcard(`${keysOf(fn).limits}parked`)).toBe(KEYS - 1);
      },
      { timeout: 60_000 },
    );
    await expect(server.redis.zcard(keysOf(fn).leases)).resolves.toBe(KEYS - 1);
  }

  /** One key has a job that runs and a million that wait. */
  async function fillList(): Promise<void> {
    const list = `${keysOf(fn).limits}wait:normal:full`;
    await enqueueLimited(server.redis, fn, ['full', 'full'], { rules: RULES });
    await server.redis.eval(FILL, 1, list, WAITING);
    await expect(claimUpTo(fn, CHUNK)).resolves.toHaveLength(1);
    await expect(server.redis.llen(list)).resolves.toBe(WAITING + 1);
  }

  /** One key has a job that runs and one that waits. */
  async function fillOne(): Promise<void> {
    await enqueueLimited(server.redis, small, ['full', 'full'], { rules: RULES });
    await expect(claimUpTo(small, CHUNK)).resolves.toHaveLength(1);
  }

  const FULL = { '9,999 of 10,000 keys': fillKeys, 'one key with 1,000,000 jobs': fillList };

  const JOBS: Record<string, (of: string) => Job> = {
    'a job of another key': (of) => ({
      fn: of,
      files: 1,
      add: () => enqueueLimited(server.redis, of, ['another'], { rules: RULES }),
    }),
    'a job without a key': (of) => ({ fn: of, files: 0, add: () => enqueue(server.redis, of, ['x']) }),
  };
  const withoutLimit = (): Job => ({
    fn: unlimited,
    files: 0,
    add: () => enqueue(server.redis, unlimited, ['x']),
  });

  /** Adds a job, measures its claim, and ends it. */
  async function measured<Measure>(
    { fn: of, files, add }: Job,
    measure: (claiming: () => Promise<void>) => Promise<Measure>,
  ): Promise<Measure> {
    await add();
    const members: string[] = [];
    const result = await measure(async () => {
      for (const { id, token } of await claimUpTo(of, 1, files)) members.push(`${id}:${token}`);
    });
    expect(members).toHaveLength(1);
    await claim(server.redis, of, {
      slots: 0,
      recover: 0,
      outcomes: members.flatMap((member) => [member, 'success', 'done', '']),
    });
    return result;
  }

  /** How many commands the script calls. */
  async function commandsOf(job: Job, trace: CommandTrace): Promise<number> {
    return measured(job, async (claiming) => {
      await trace.take();
      await claiming();
      return (await trace.take()).filter(({ source }) => source === 'lua').length;
    });
  }

  /** Microseconds that the server spends in the script. */
  const timeOf = (job: Job): Promise<number> =>
    measured(job, async (claiming) => {
      const before = await timeInScripts();
      await claiming();
      return (await timeInScripts()) - before;
    });

  /** The shortest time of a job's claim in that of another. */
  async function ratioOf(job: Job, other: Job): Promise<number> {
    const [times, others]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      times.push(await timeOf(job));
      others.push(await timeOf(other));
    }
    return Math.min(...times) / Math.min(...others);
  }

  async function timeInScripts(): Promise<number> {
    const stats = await server.redis.info('commandstats');
    return Number(/cmdstat_evalsha:calls=\d+,usec=(\d+)/.exec(stats)?.[1]);
  }

  describe.each(Object.entries(FULL))('%s', (_, fill) => {
    it.each(Object.entries(JOBS))(
      `the claim of %s calls at most ${MOST_COMMANDS} times the commands that it calls without limits, and takes no longer than with one full key`,
      async (__, jobOf) => {
        await fill();
        await fillOne();
        const [job, other] = [jobOf(fn), withoutLimit()];
        await measured(other, (claiming) => claiming());
        const trace = await CommandTrace.start(server.redis);
        const commands = [await commandsOf(job, trace), await commandsOf(other, trace)] as const;
        trace.stop();
        expect(commands[0]).toBeLessThanOrEqual(MOST_COMMANDS * commands[1]);
        let ratio = Infinity;
        for (let tries = 0; tries < TRIES && ratio > MOST_TIME; tries++)
          ratio = await ratioOf(job, jobOf(small));
        expect(ratio).toBeLessThanOrEqual(MOST_TIME);
      },
    );
  });
});

interface Job {
  readonly fn: string;
  /** 1 for a worker that makes the keys of jobs without one. */
  readonly files: 0 | 1;
  readonly add: () => Promise<unknown>;
}
