import { beforeEach, describe, expect, it } from '@jest/globals';
import * as operations from '../../../lib/jq/engine/operations.js';
import { useRedis } from '../../support/use-redis.js';
import { EngineRig } from './engine-rig.js';

const FORGET_WORKER = 3_600_000;

describe('what a master of before has left', () => {
  const used = useRedis();
  let rig: EngineRig;
  beforeEach(() => {
    rig = new EngineRig(used.redis, `{${used.fn('jq')}}:`, { forgetWorker: FORGET_WORKER, lostAfter: 1 });
  });

  /** Rewrites it as it was kept before workers had classes and names their heads. */
  async function rewind(names: Readonly<Record<string, readonly string[]>>): Promise<void> {
    const { redis } = used;
    for (const kind of ['heads:*', 'class*', 'members:*', 'free:*', 'dry:*', 'stirred', 'layout']) {
      const keys = await redis.keys(`${rig.prefix}${kind}`);
      if (keys.length > 0) await redis.del(keys);
    }
    await redis.del(`${rig.prefix}silent`);
    for (const [worker, wanted] of Object.entries(names)) {
      await redis.hdel(`${rig.prefix}worker:${worker}`, 'class');
      if (await redis.hexists(`${rig.prefix}worker:${worker}`, 'url'))
        await redis.zadd(`${rig.prefix}free`, 0, worker);
      if (wanted.length === 0) continue;
      await redis.hset(`${rig.prefix}worker:${worker}`, 'names', 1);
      await redis.sadd(`${rig.prefix}names:${worker}`, ...wanted);
    }
  }

  it('is handed out to the workers that registered with it', async () => {
    const mails = [await rig.enqueue({ name: 'mail' }), await rig.enqueue({ name: 'mail' })];
    const other = await rig.enqueue({ name: 'other' });
    const [mailer, another, puller] = [
      await rig.worker({ names: ['mail'] }),
      await rig.worker({ names: ['other', 'third'] }),
      await rig.puller({ names: ['mail'] }),
    ];
    await rewind({ [mailer]: ['mail'], [another]: ['other', 'third'], [puller]: ['mail'] });
    await rig.run(operations.adopt());
    await rig.pass(1000);
    await expect(rig.pull(puller)).resolves.toMatchObject({ job: { id: mails[0] }, names: ['mail'] });
    const handed = await rig.handOut();
    expect(handed.map(({ id, worker }) => [id, worker]).sort()).toEqual(
      [
        [mails[1], mailer],
        [other, another],
      ].sort(),
    );
  });

  it('stops no turn if an earlier master registers a worker later', async () => {
    await rig.run(operations.adopt());
    const id = await rig.enqueue({ name: 'mail' });
    const late = await rig.puller({ names: ['mail'] });
    await used.redis.hdel(`${rig.prefix}worker:${late}`, 'class');
    await used.redis.sadd(`${rig.prefix}names:${late}`, 'mail');
    await expect(rig.pull(late)).resolves.toMatchObject({ job: { id } });
    await rig.pass(FORGET_WORKER);
  });

  it('has workers that are asked in time whether they are there', async () => {
    const worker = await rig.worker();
    await rewind({ [worker]: [] });
    await rig.run(operations.adopt());
    rig.now += FORGET_WORKER;
    await expect(rig.turn([], { sweep: true })).resolves.toMatchObject({ probes: [{ worker }] });
  });
});
