import { describe, expect, it } from '@jest/globals';
import { claim } from '../gearmonkey/scripts/scripts.js';
import { until } from '../support/until.js';
import { HELD, statuses, useOutage, work, type Actor } from './outage-rig.js';

const LEASE_MS = 3000;
const JOBS = 6;

describe('a server that is half there for longer than a lease', () => {
  const outage = useOutage([]);

  const scores = async () => {
    const list = await outage.redis.zrange('lease:work', '0', '-1', 'WITHSCORES');
    return list.filter((_, at) => at % 2 === 1).map(Number);
  };
  const areOver = async () => (await scores()).every((end) => end < Date.now());
  const areRenewed = async () => (await scores()).every((end) => end > Date.now());

  /** A worker without free slots looks for leases that have ended. */
  const ask = () => claim(outage.redis, 'work', { now: '', lease: LEASE_MS, slots: 0, maxStalls: 3 });

  /** Two workers that run the jobs, each with places to spare. */
  async function busyWorkers(): Promise<Actor[]> {
    const workers = [await outage.actor({ lease: LEASE_MS }), await outage.actor({ lease: LEASE_MS })];
    await Promise.all(Array.from({ length: JOBS }, () => workers[0]?.client.run(work, HELD)));
    await until(() => workers.flatMap(({ runs }) => runs).length === JOBS);
    return workers;
  }

  async function expectEachOnce(workers: readonly Actor[]): Promise<void> {
    // The grace is over when workers recover jobs again: those of a lease that no worker holds.
    await outage.redis.zadd('lease:work', 1, '999:1');
    await until(async () => (await outage.redis.zscore('lease:work', '999:1')) === null);
    expect(await areRenewed()).toBe(true);
    for (const worker of workers) worker.letGo();
    await until(async () => (await statuses(outage.redis))['success'] === JOBS);
    expect(workers.flatMap(({ runs }) => runs).toSorted()).toEqual(['1', '2', '3', '4', '5', '6']);
  }

  it('has no running job begin anew after it refused writes', async () => {
    const workers = await busyWorkers();
    await outage.redis.config('SET', 'min-replicas-to-write', '1');
    await until(areOver);
    await outage.redis.config('SET', 'min-replicas-to-write', '0');
    await ask();
    await expectEachOnce(workers);
  });

  it('has no running job begin anew after it hung, though claims that were sent before come first', async () => {
    const workers = await busyWorkers();
    const ends = Math.max(...(await scores()));
    await outage.server.kill('SIGSTOP');
    const asked = ask();
    await until(() => Date.now() > ends + LEASE_MS);
    await outage.server.kill('SIGCONT');
    await asked;
    await expectEachOnce(workers);
  });
});
