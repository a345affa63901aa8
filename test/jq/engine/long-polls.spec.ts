import { describe, expect, it } from '@jest/globals';
import { EngineLife } from '../../../lib/jq/engine/engine-life.js';
import { LongPolls } from '../../../lib/jq/engine/long-polls.js';
import type { Operation } from '../../../lib/jq/engine/operations.js';
import type { TurnQueue } from '../../../lib/jq/engine/turn-queue.js';
import { eventually } from '../../support/until.js';

const MINUTE = 60_000;

describe('a pull', () => {
  it('that has got a job passes its later wake-ups on to one that waits', async () => {
    const accepts: (() => void)[] = [];
    let late = 0;
    const run = ({ name, args }: Operation<unknown>): Promise<unknown> => {
      if (name === 'answer') return new Promise((resolve) => accepts.push(() => resolve(true)));
      if (args[0] !== 'late') return Promise.resolve({ status: 'job', names: ['a'], job: {} });
      late += 1;
      return Promise.resolve({ status: 'none', names: ['a'] });
    };
    const life = new EngineLife();
    const polls = new LongPolls({ run } as unknown as TurnQueue, life, () => Promise.resolve());
    const taking = ['w1', 'w2', 'w3', 'w4'].map((worker) => polls.pull(worker, MINUTE));
    await eventually(() => expect(accepts).toHaveLength(4));
    const waiting = polls.pull('late', MINUTE);
    await eventually(() => expect(late).toBe(1));
    // Of names that are not known yet all are heard.
    polls.wakePulls('["="]');
    for (const accept of accepts) accept();
    await Promise.all(taking);
    await eventually(() => expect(late).toBe(2));
    life.enter('stopping');
    polls.wakeAll();
    await waiting;
    expect(late).toBe(2);
  });
});
