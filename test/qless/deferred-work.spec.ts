import { describe, expect, it } from '@jest/globals';
import { sourceScript } from '../../lib/qless/wire/assemble.js';
import { chunksOf } from '../../lib/batching/chunks.js';
import { MOST_COMMANDS, commandsDuring } from './commands-during.js';
import { jidsOf, useQless } from './qless-rig.js';

const MANY = 9000;
/** What a call finishes of it. */
const A_CALL = 250;

describe('the rest of a call with very many jids', () => {
  const qless = useQless();
  const jids = Array.from({ length: MANY }, (_, n) => `j${n}`);
  const commandsOf = (call: () => Promise<unknown>) => commandsDuring(qless.redis, call);

  const putMany = async (...options: string[]) => {
    const pipeline = qless.redis.pipeline();
    await qless.put('first', ...options);
    const sha = await qless.redis.script('LOAD', qless.script);
    for (const jid of jids) {
      pipeline.evalsha(String(sha), 0, 'put', 0, 'p', 'q', jid, 'k', '{}', 0, ...options);
    }
    await pipeline.exec();
  };
  const popAll = async (now: number) => {
    while ((await qless.pop(now, A_CALL)).length > 0);
  };
  const pending = async (set: string) => String(await qless.redis.srandmember(`ql:${set}`));
  const finishAll = async (set: string) => {
    for (let calls = 0; await qless.redis.exists(`ql:${set}`); calls++) {
      expect(calls).toBeLessThan(MANY / A_CALL);
      await qless.q('length', 9, 'q');
    }
  };

  /** Those of the jids for which there is a job, as calls with as many jids as they may have say. */
  const found = async (now: number, among: readonly string[]) => {
    const parts = chunksOf(among, 1000).map((part) => qless.json('multiget', now, ...part));
    return (await Promise.all(parts)).flatMap(jidsOf);
  };

  describe('of cancel', () => {
    it('is done by the calls that come after it, each a part', async () => {
      await putMany('tags', '["t"]');
      expect(await commandsOf(() => qless.q('cancel', 1, 'first', ...jids))).toBeLessThan(MOST_COMMANDS);
      expect(await commandsOf(() => qless.q('length', 1, 'q'))).toBeLessThan(MOST_COMMANDS);
      await finishAll('cancelling');
      await expect(qless.redis.keys('*')).resolves.toEqual(['ql:queues']);
    });

    it('is empty if one of them may not be cancelled', async () => {
      await putMany();
      await qless.put('last', 'depends', '["j8999"]');
      await expect(qless.q('cancel', 1, ...jids)).rejects.toThrow(
        'Cancel(): j8999 is a dependency of last but is not mentioned to be canceled',
      );
      await expect(qless.redis.exists('ql:cancelling')).resolves.toBe(0);
      await expect(qless.q('length', 1, 'q')).resolves.toBe(MANY + 1);
    });

    it('no other call finds, gets or waits for one of them', async () => {
      await putMany();
      await qless.q('cancel', 1, ...jids);
      await expect(qless.q('get', 2, await pending('cancelling'))).resolves.toBeNull();
      await expect(found(2, jids)).resolves.toEqual([]);
      await qless.q(
        'put',
        2,
        'p',
        'n',
        'waiter',
        'k',
        '{}',
        0,
        'depends',
        `["${await pending('cancelling')}"]`,
      );
      await expect(qless.job('waiter')).resolves.toMatchObject({ state: 'waiting', dependencies: {} });
      await expect(qless.q('cancel', 2, 'nobody', await pending('cancelling'))).resolves.toHaveLength(2);
      await expect(qless.pop(2, A_CALL)).resolves.toEqual(['first']);
    });

    it('leaves jobs of the same jid alone that are put after it, or were complete', async () => {
      await putMany();
      const done = await qless.pop(0, 3);
      for (const jid of done) await qless.q('complete', 0, jid, 'w', 'q', '{}');
      await qless.q('cancel', 1, 'r-1', 'r-2', ...jids);
      const again = await pending('cancelling');
      await qless.q('put', 2, 'p', 'n', again, 'k', '{}', 0);
      await qless.q('recur', 2, 'n', 'r', 'k', '{}', 'interval', 60, 0);
      expect(jidsOf(await qless.json('pop', 62, 'n', 'w', 5)).toSorted()).toEqual([again, 'r-1', 'r-2']);
      expect((await found(62, jids)).toSorted()).toEqual([again, ...done].toSorted());
      await finishAll('cancelling');
      await expect(found(62, ['r-1', 'r-2', ...jids])).resolves.toHaveLength(done.length + 3);
    });

    it('frees the jobs that one of them depended on', async () => {
      await putMany();
      await qless.q('put', 0, 'p', 'q', 'j8999', 'k', '{}', 0, 'depends', '["first"]');
      await qless.q('cancel', 1, ...jids);
      await expect(qless.q('cancel', 1, 'first')).resolves.toEqual(['first']);
      await finishAll('cancelling');
      await expect(qless.redis.keys('ql:j:*')).resolves.toEqual([]);
    });
  });

  describe('of timeout', () => {
    const popMany = async () => {
      await putMany();
      await popAll(0);
    };

    it('is done by the calls that come after it, and the jobs are the next to be popped', async () => {
      await popMany();
      // It reads a state for each, and nothing more.
      expect(await commandsOf(() => qless.q('timeout', 1, ...jids))).toBeLessThan(MANY + MOST_COMMANDS);
      expect(await commandsOf(() => qless.pop(2, A_CALL, 'x'))).toBeLessThan(MOST_COMMANDS);
      await popAll(2);
      await expect(qless.redis.zcard('ql:q:q-locks')).resolves.toBe(MANY + 1);
      const { jobs } = await qless.json<{ jobs: string[] }>('workers', 2, 'x');
      expect(jobs).toHaveLength(A_CALL);
      await expect(qless.redis.keys('ql:stalling*')).resolves.toEqual([]);
      await expect(qless.job('first')).resolves.toMatchObject({ state: 'running', worker: 'w' });
    });

    it('is empty if one of them is not running', async () => {
      await popMany();
      await qless.put('waits');
      const timeout = (...last: string[]) => qless.q('timeout', 1, ...jids, ...last);
      await expect(timeout('waits')).rejects.toThrow('Timeout(): Job waits not running');
      await expect(timeout('gone')).rejects.toThrow('Timeout(): Job gone does not exist');
      await expect(timeout('j1')).rejects.toThrow('Timeout(): Job j1 not running');
      await expect(qless.redis.exists('ql:stalling')).resolves.toBe(0);
      await timeout();
      await expect(timeout()).rejects.toThrow('not running');
    });

    it('is lost to its worker', async () => {
      await popMany();
      await qless.q('timeout', 1, ...jids);
      const heartbeat = qless.q('heartbeat', 2, await pending('stalling'), 'w');
      await expect(heartbeat).rejects.toThrow('not currently running: stalled');
      const claim = `${await pending('stalling')}:0`;
      const renewed = qless.redis.eval(sourceScript('renew'), 1, 'ql:', 2, 'w', '', claim);
      await expect(renewed).resolves.toEqual([claim]);
    });

    it('is claimed when its lock has expired meanwhile; only the owner of another job is warned', async () => {
      await popMany();
      await qless.q('timeout', 1, ...jids);
      await expect(qless.pop(100, 5, 'x')).resolves.toHaveLength(5);
      await expect(qless.json('stats', 100, 'q', 0)).resolves.toMatchObject({ retries: 1 });
    });
  });
});
