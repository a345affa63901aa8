import { expect, it } from '@jest/globals';
import { runWorker } from '../../support/run-worker.js';
import { until } from '../../support/until.js';
import { useGearMonkey } from '../use-gearmonkey.js';

const rig = useGearMonkey();

it('the lists of jobs that wait for each other expire with their hashes, also after a retry', async () => {
  const [parents, children] = [rig.fn(), rig.fn()];
  let broken = true;
  await runWorker(rig.source(), parents, () => {
    if (broken) throw new Error('broken');
  });
  await runWorker(rig.source(), children, () => 'done');
  const parent = await rig.client.run(parents, 1);
  const child = await rig.client.run(children, 1, { after: [parent] });
  await expect(child.result({ timeout: '20s' })).rejects.toMatchObject({ error: { code: 'PARENT_FAILED' } });
  const lists = [`job:${parents}:1:children`, `job:${children}:1:parents`];
  const expire = async () => {
    const times = await Promise.all(lists.map((list) => rig.redis.ttl(list)));
    // -2: there is no such list.
    return times.every((time) => time === -2 || time > 0);
  };
  await until(expire);
  broken = false;
  await rig.client.retry(parents, parent.id).done;
  await parent.result({ timeout: '20s' });
  await rig.client.retry(children, child.id).done;
  await expect(child.result({ timeout: '20s' })).resolves.toBe('done');
  await until(expire);
});
