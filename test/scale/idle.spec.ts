import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { codecOf } from '../../lib/job/codec.js';
import { defineJob } from '../../lib/job/job-definition.js';
import { bindHandler, type HandlerOptions } from '../../lib/worker/job-handler.js';
import { JobWorker } from '../../lib/worker/job-worker.js';
import { RedisActors } from '../gearmonkey/redis-rig.js';
import { CommandTrace } from '../support/command-trace.js';
import { OwnTimers } from '../support/own-timers.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { connectionsOf } from './connections.js';
import { furtherInFullTier, inFullTier } from '../support/tier.js';

const FUNCTIONS = ['a', 'b', 'c', 'd', 'e'];
const SECONDS = 10;

describe(`an idle worker of ${FUNCTIONS.length} functions`, () => {
  const server = useRedis();
  let actors: RedisActors;
  let workers: JobWorker[] = [];

  beforeAll(() => void (actors = new RedisActors(server.url)));
  beforeEach(async () => void (await server.redis.flushall()));
  afterAll(() => actors.close());

  async function start(handler: HandlerOptions = {}): Promise<JobWorker> {
    const bindings = FUNCTIONS.map((fn) => bindHandler(defineJob(fn), handler, () => 'done'));
    const options = { codec: codecOf('json'), maxPayloadBytes: 1024, log: console };
    const worker = new JobWorker(actors.source({}, { keeper: true }), bindings, options);
    await worker.start();
    return worker;
  }

  const isIdle = async () =>
    (await connectionsOf(server.redis)).filter(({ cmd, blocked }) => blocked && cmd === 'blpop').length ===
    workers.length;

  /**
   * Commands per second and worker: those that were sent, and those that their scripts called. The leader looks after the lists
   * of jobs once a minute, which may be now: those calls are counted apart. And timers that ran.
   */
  async function effort(count: number, handler?: HandlerOptions) {
    const timers = new OwnTimers();
    workers = await Promise.all(Array.from({ length: count }, () => timers.within(() => start(handler))));
    await until(isIdle);
    const trace = await CommandTrace.start(server.redis);
    // Scripts are loaded, and the functions have their leaders.
    await until(async () => (await server.redis.exists(...FUNCTIONS.map((fn) => `leader:${fn}`))) === 5);
    await trace.take();
    const [since, runsBefore] = [performance.now(), timers.runsWithin];
    await until(() => performance.now() - since > SECONDS * 1000);
    const commands = await trace.take();
    // On a busy machine the trace is longer than it was to be.
    const seconds = (performance.now() - since) / 1000;
    const runs = timers.runsWithin - runsBefore;
    timers.stop();
    trace.stop();
    await Promise.all(workers.map((worker) => worker.stop(0)));
    const inScripts = commands.filter(({ source }) => source === 'lua');
    const listed = inScripts.filter(({ args }) => /^(?:ended|retrying):/.test(args[0] ?? '')).length;
    const called = inScripts.length - listed;
    const asked = commands.filter(({ name, source }) => name === 'trim' && source !== 'lua').length;
    return {
      sent: (commands.length - inScripts.length - asked) / count / seconds,
      called: called / count / seconds,
      listed,
      timers: runs / count / seconds,
    };
  }

  it.each(furtherInFullTier([3], [1]))(
    'sends at most 3 commands a second, its scripts call 10, and 2 timers run, as one of %d',
    async (count) => {
      const { sent, called, listed, timers } = await effort(count);
      expect(sent).toBeLessThanOrEqual(3);
      expect(called).toBeLessThanOrEqual(10);
      // The rounds of its process, unless they had begun before, and the renewal of its leases.
      expect(timers).toBeGreaterThan(0);
      expect(timers).toBeLessThanOrEqual(2);
      // Four lists of each function, again if another worker takes over.
      expect(listed).toBeLessThanOrEqual(2 * 4 * FUNCTIONS.length);
    },
  );

  it('calls a few commands more for functions with a limit', async () => {
    const { sent, called } = await effort(1, { limit: { concurrency: 1, key: String } });
    expect(sent).toBeLessThanOrEqual(3);
    expect(called).toBeLessThanOrEqual(10 + 6 * FUNCTIONS.length);
  });

  inFullTier(() => {
    it('sends no more for jobs of paused functions', async () => {
      const client = actors.client();
      await Promise.all(FUNCTIONS.map((fn) => client.pause(fn)));
      for (const fn of FUNCTIONS) await client.runMany(fn, ['a', 'b']);
      for (const fn of FUNCTIONS) await client.run(fn, 'due', { delay: 1 });
      const { sent, called } = await effort(1);
      expect(sent).toBeLessThanOrEqual(3);
      // The leader reads that each function is paused, and looks for expired leases.
      expect(called).toBeLessThanOrEqual(40);
    });
  });
});
