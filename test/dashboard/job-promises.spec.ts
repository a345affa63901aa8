import { describe, expect, it } from '@jest/globals';
import { GearMonkeyClient, GearMonkeyModule, GearMonkeyWorkers } from 'nestjs-gearmonkey';
import { DashboardModule } from 'nestjs-gearmonkey/dashboard';
import type { JobView, JobsView, PayloadView, StreamView } from '../../lib/dashboard/api.js';
import { eventually } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { json } from './http.js';

/** What docs/operate/dashboard.md says of the view "Job", of a job that a client of this package has enqueued. */
describe('the page of a job', () => {
  const redis = useRedis();
  const apps = useServedApps();

  it.each<[string, () => string]>([
    ['Redis', () => redis.url],
    ['memory', () => 'memory:'],
  ])('on %s has all that the docs promise', async (_, url) => {
    const { app, base } = await apps.serve('express', {
      imports: [GearMonkeyModule.forRoot({ connection: url() }), DashboardModule.forRoot()],
    });
    const fn = redis.fn();
    let runs = 0;
    await app.get(GearMonkeyWorkers).add(
      fn,
      async (_input, job) => {
        if (runs++ === 0) throw new TypeError('the first attempt');
        await job.step('a step', () => 'done');
        await job.log('a line');
        await job.chunk('a chunk');
        await job.update(1, 2);
        return { sum: 42 };
      },
      { retry: { attempts: 2, delay: 1 } },
    );
    const client = app.get(GearMonkeyClient);
    const { id } = await client.run(fn, { a: 1 }, { tags: ['red', 'blue'], headers: { trace: 'x' } });
    const read = () => json<JobView>(base, `/api/job?fn=${fn}&id=${id}`);
    await eventually(async () => expect((await read()).state).toBe('succeeded'));
    const job = await read();
    expect(job).toMatchObject({
      ...{ id, fn, state: 'succeeded', tags: ['red', 'blue'], headers: { trace: 'x' } },
      times: { created: expect.any(String), started: expect.any(String), finished: expect.any(String) },
      errors: [{ attempt: 1, name: 'TypeError', message: 'the first attempt' }],
      steps: [{ name: 'a step', bytes: 6 }],
      ...{ progress: { dividend: 1, divisor: 2 }, streams: { output: 1, log: 1 } },
      ...{ input: { bytes: 7 }, output: { bytes: 10 }, more: {} },
    });
    const payload = (part: string) =>
      json<PayloadView>(base, `/api/payload?fn=${fn}&id=${id}&part=${part}`).then(({ text }) => text);
    expect([await payload('input'), await payload('output')]).toEqual(['{"a":1}', '{"sum":42}']);
    for (const [kind, text] of [
      ['output', '"a chunk"'],
      ['log', 'a line'],
    ])
      expect(await json<StreamView>(base, `/api/stream?fn=${fn}&id=${id}&kind=${kind}`)).toMatchObject({
        entries: [{ text }],
      });
    for (const tag of ['red', 'blue'])
      expect((await json<JobsView>(base, `/api/find?fn=${fn}&tag=${tag}`)).jobs).toMatchObject([
        { id, tags: ['red', 'blue'] },
      ]);
  });
});
