import { describe, expect, it } from '@jest/globals';
import { performance } from 'node:perf_hooks';
import { GearMonkeyClient, GearMonkeyModule } from 'nestjs-gearmonkey';
import { DashboardModule } from 'nestjs-gearmonkey/dashboard';
import type { LiveEvents } from '../../lib/dashboard/api.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { useServedApps } from './dashboard-app.js';
import { ask, listen } from './http.js';

const FUNCTIONS = 200;
const TABS = 20;
/** The reader's limit, and a second's worth that may fall into a second more. */
const MOST_A_SECOND = 50;

describe('live updates', () => {
  const redis = useRedis();
  const apps = useServedApps();
  const serve = () =>
    apps.serve('express', {
      imports: [
        GearMonkeyModule.forRoot({ connection: redis.url, workers: false }),
        DashboardModule.forRoot(),
      ],
    });
  /** Calls of clients: scripts, and the commands that no script makes. */
  async function questions(): Promise<number> {
    const text = await redis.redis.info('commandstats');
    const calls = (name: string) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(text)?.[1] ?? 0);
    return calls('evalsha') + calls('zrevrange') + calls('hgetall');
  }

  it('read once for all tabs, at most 50 questions a second, and nothing without a tab', async () => {
    const { app, base } = await serve();
    const client = app.get(GearMonkeyClient);
    for (let index = 0; index < FUNCTIONS; index++) await client.run(`fn${index}`, index);
    await until(async () => (await redis.redis.zcard('functions')) === FUNCTIONS);
    const tabs = Array.from({ length: TABS }, () => listen(base, [{ overview: 'default' }]));
    const overviewsOf = ({ events }: (typeof tabs)[number]) =>
      events
        .filter(({ name }) => name === 'overview')
        .flatMap(({ data }) => (data as LiveEvents['overview']).functions);
    await until(() => tabs.every((tab) => overviewsOf(tab).length >= FUNCTIONS), { timeout: 60_000 });

    const [begun, first] = [performance.now(), await questions()];
    // A round of 200 functions takes four seconds or more: the next change arrives with it.
    await client.run('fn7', 'more');
    await until(() => tabs.every((tab) => overviewsOf(tab).length > FUNCTIONS), { timeout: 60_000 });
    const seconds = (performance.now() - begun) / 1000;
    const asked = (await questions()) - first;
    // A batch more may fall into the time, and the enqueue is one.
    expect(asked).toBeLessThanOrEqual(MOST_A_SECOND * (seconds + 1) + 1);

    for (const tab of tabs) tab.close();
    // What was under way ends; then two looks find the same.
    await until(async () => quiet(await questions()), { timeout: 60_000 });
  });

  /** Whether nothing was asked in three seconds, which is longer than a pause between rounds. */
  async function quiet(before: number): Promise<boolean> {
    const begun = performance.now();
    await until(() => performance.now() - begun > 3000, { interval: 100 });
    return (await questions()) === before;
  }

  it('have at most 200 listeners', async () => {
    const { base } = await serve();
    const tabs = Array.from({ length: 200 }, () => listen(base, []));
    await until(() => tabs.every((tab) => tab.hasBegun()), { timeout: 60_000 });
    expect((await ask(base, '/api/live?topics=[]')).status).toBe(429);
    for (const tab of tabs) tab.close();
  });
});
