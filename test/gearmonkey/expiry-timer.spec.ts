import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ExpiryTimer } from '../../lib/gearmonkey/core/client/tracked-job.js';
import { systemClock } from '../../lib/job/clock.js';

describe('ExpiryTimer', () => {
  /** What the server says in turn: the milliseconds until the job expires, or an error. */
  let answers: (number | Error)[];
  /** When the server was asked, in milliseconds from the start. */
  let asked: number[];
  let timer: ExpiryTimer;
  let began: number;

  beforeEach(() => {
    jest.useFakeTimers();
    [answers, asked, began] = [[], [], Date.now()];
    timer = new ExpiryTimer(async () => {
      asked.push(Date.now() - began);
      const answer = answers.shift() ?? 0;
      if (answer instanceof Error) throw answer;
      return answer;
    }, systemClock);
  });
  afterEach(() => {
    timer.stop();
    jest.useRealTimers();
  });

  it('ends a job once, when it expires', async () => {
    timer.start(100);
    timer.start(200);
    await jest.advanceTimersByTimeAsync(99);
    expect(asked).toEqual([]);
    await jest.advanceTimersByTimeAsync(1000);
    expect(asked).toEqual([100]);
  });

  it('waits on for one whose expiry was put off, and tries again after a call that failed', async () => {
    answers = [50, new Error('no server'), -1];
    timer.start(100);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(asked).toEqual([100, 150, 1150]);
  });

  it('asks at once about one of which only the server knows when it expires, and never after it was stopped', async () => {
    answers = [50];
    timer.start();
    await jest.advanceTimersByTimeAsync(1);
    timer.stop();
    await jest.advanceTimersByTimeAsync(10_000);
    expect(asked).toHaveLength(1);
  });
});
