import { describe, expect, it } from '@jest/globals';
import { retry } from '../../lib/batching/retry.js';

const away = new Error('away');
const late = (lastError: unknown) => new Error('late', { cause: lastError });
const pause = () => 1;

describe('retry', () => {
  it('tries until it succeeds, and passes the number of failures', async () => {
    const failures: number[] = [];
    let attempts = 0;
    const answer = retry(async () => (++attempts < 3 ? Promise.reject(away) : 'answer'), {
      pause: (_, count) => {
        failures.push(count);
        return 0;
      },
      late,
    });
    await expect(answer).resolves.toBe('answer');
    expect(failures).toEqual([1, 2]);
  });

  it('throws an error at once if another attempt cannot help', async () => {
    const final = new Error('final');
    const answer = retry(() => Promise.reject(final), { pause: () => undefined, late });
    await expect(answer).rejects.toBe(final);
  });

  it('gives up at its deadline, with the last error', async () => {
    const left: number[] = [];
    const answer = retry(
      (ms) => {
        left.push(ms);
        return Promise.reject(away);
      },
      { timeout: 20, pause, late },
    );
    await expect(answer).rejects.toMatchObject({ message: 'late', cause: away });
    expect(left[0]).toBeLessThanOrEqual(20);
    expect(Math.min(...left)).toBeGreaterThan(0);
  });

  it('pauses no longer than until its deadline', async () => {
    const begun = performance.now();
    const answer = retry(() => Promise.reject(away), { timeout: 20, pause: () => 60_000, late });
    await expect(answer).rejects.toThrow('late');
    expect(performance.now() - begun).toBeLessThan(30_000);
  });

  it('does not begin if no time is left', async () => {
    let attempts = 0;
    const answer = retry(async () => ++attempts, { timeout: 0, pause, late });
    await expect(answer).rejects.toMatchObject({ message: 'late', cause: undefined });
    expect(attempts).toBe(0);
  });

  it('ends its pause when the signal aborts, and does not try again', async () => {
    const abort = new AbortController();
    let attempts = 0;
    const attempt = () => {
      attempts += 1;
      return Promise.reject(away);
    };
    const onFailure = () => void setImmediate(() => abort.abort());
    const answer = retry(attempt, { signal: abort.signal, pause: () => 60_000, onFailure, late });
    await expect(answer).rejects.toMatchObject({ message: 'late', cause: away });
    expect(attempts).toBe(1);
  });

  it('reports the last error before the signal aborted', async () => {
    const abort = new AbortController();
    let attempts = 0;
    const attempt = async () => {
      if (++attempts === 1) throw away;
      abort.abort();
      throw new Error('aborted');
    };
    const answer = retry(attempt, { signal: abort.signal, pause, late });
    await expect(answer).rejects.toMatchObject({ cause: away });
  });
});
