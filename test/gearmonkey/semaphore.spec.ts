import { describe, expect, it } from '@jest/globals';
import { Semaphore } from '../../lib/gearmonkey/core/client/job-feed.js';
import { gate, type Gate } from '../support/gate.js';
import { eventually } from '../support/until.js';

describe('Semaphore', () => {
  /** Tasks that end when a test says so; `begun` has those that have begun. */
  function tasks(semaphore: Semaphore, names: string) {
    const begun: string[] = [];
    const ends = new Map<string, Gate>();
    const running = [...names].map((name) => {
      const end = gate();
      ends.set(name, end);
      return semaphore.run(async () => {
        begun.push(name);
        await end.passed;
        if (name === 'x') throw new Error('failed');
        return name;
      });
    });
    const end = (name: string) => ends.get(name)?.open();
    return { begun, running, end };
  }

  it('runs a number of tasks at a time, and the next in order when one has ended', async () => {
    const { begun, running, end } = tasks(new Semaphore(2), 'abcd');
    expect(begun).toEqual(['a', 'b']);
    end('b');
    await eventually(() => expect(begun).toEqual(['a', 'b', 'c']));
    for (const name of 'acd') end(name);
    await Promise.all(running.slice(0, 3));
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    await expect(Promise.all(running)).resolves.toEqual(['a', 'b', 'c', 'd']);
  });

  it('has its places again when all have ended, also those of tasks that failed', async () => {
    const semaphore = new Semaphore(2);
    const first = tasks(semaphore, 'xab');
    for (const name of 'xab') first.end(name);
    const outcomes = await Promise.allSettled(first.running);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    const { begun, running, end } = tasks(semaphore, 'cde');
    expect(begun).toEqual(['c', 'd']);
    for (const name of 'cde') end(name);
    await expect(Promise.all(running)).resolves.toEqual(['c', 'd', 'e']);
  });
});
