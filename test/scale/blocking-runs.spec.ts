import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GearMonkeyClient, GearMonkeyModule, Worker } from 'nestjs-gearmonkey';
import { CommandTrace, countCalls } from '../support/command-trace.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';
import { connectionsOf } from './connections.js';

const RUNS = 1000;

class Echo {
  @Worker('echo', { concurrency: 100 })
  echo(input: number) {
    return input;
  }
}

describe(`${RUNS} runs that wait for their jobs`, () => {
  const server = useRedis();
  const apps = useApps();
  let trace: CommandTrace;

  beforeAll(async () => {
    trace = await CommandTrace.start(server.redis);
  });

  afterAll(() => trace.stop());

  it('all return, with four connections and few commands each', async () => {
    const app = await apps.start({
      imports: [GearMonkeyModule.forRoot({ connection: server.url, enqueueTimeout: '60s' })],
      providers: [Echo],
    });
    const client = app.get(GearMonkeyClient);
    await client.call('echo', 0);
    await trace.take();

    const inputs = Array.from({ length: RUNS }, (_, number) => number);
    const runs = inputs.map((input) => client.run('echo', input, { blocking: true, timeout: '60s' }));
    const jobs = await Promise.all(runs);
    expect((await connectionsOf(server.redis)).length).toBeLessThanOrEqual(4);
    const counts = Object.values(countCalls(await trace.take()));
    expect(counts.reduce((one, other) => one + other, 0)).toBeLessThan(RUNS / 4);

    // One after the other: each answer has its own time, however busy the machine is.
    const outputs = [];
    for (const job of jobs) outputs.push((await job.get()).output);
    expect(outputs).toEqual(inputs);
  });
});
