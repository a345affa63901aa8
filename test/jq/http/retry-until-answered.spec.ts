import { describe, expect, it } from '@jest/globals';
import { JqRefusedError, JqUnreachableError } from '../../../lib/jq/http/master-errors.js';
import type { MasterReply } from '../../../lib/jq/http/master-http.js';
import { askMaster, retryUntilAnswered } from '../../../lib/jq/http/retry-until-answered.js';

const reply = (status: number, rest = 0): MasterReply => ({ status, rest, body: Buffer.alloc(0) });
const called = { url: 'http://master', what: 'GET /job' };

/** Replies one by one; an error is thrown. */
function scripted(...replies: (MasterReply | Error)[]): () => Promise<MasterReply> {
  const left = [...replies];
  return async () => {
    const next = left.shift() ?? reply(500);
    if (next instanceof Error) throw next;
    return next;
  };
}

describe('retryUntilAnswered', () => {
  it('retries after broken connections and replies that are not an answer, and reports each', async () => {
    const told: unknown[] = [];
    const request = scripted(new Error('away'), reply(503), reply(200));
    const answer = retryUntilAnswered(request, {
      signal: new AbortController().signal,
      unanswered: ({ status }) => (status === 503 ? new Error('later') : undefined),
      onFailure: (error) => void told.push((error as Error).message),
    });
    await expect(answer).resolves.toMatchObject({ status: 200 });
    expect(told).toEqual(['away', 'later']);
  });

  it('waits for as long as a reply asks', async () => {
    const begun = performance.now();
    await askMaster(scripted(reply(429, 400), reply(204)), new AbortController().signal, called);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(399);
  });

  it('waits for two seconds at most, however long a reply asks', async () => {
    const answer = askMaster(scripted(reply(429, 300_000), reply(204)), new AbortController().signal, called);
    await expect(answer).resolves.toMatchObject({ status: 204 });
  });

  it('ends with the reason of the signal where nothing else is said', async () => {
    const abort = new AbortController();
    const answer = retryUntilAnswered(scripted(), {
      signal: abort.signal,
      unanswered: () => new Error('later'),
      onFailure: () => abort.abort(new Error('it leaves')),
    });
    await expect(answer).rejects.toThrow('it leaves');
  });
});

describe('askMaster', () => {
  it.each([
    ['a refusal when all the master said was "later"', reply(503), JqRefusedError],
    ['that it is unreachable when it said nothing', new Error('away'), JqUnreachableError],
  ])('gives up with %s', async (_, first, type) => {
    const abort = new AbortController();
    const request = scripted(first);
    const asked = async () => {
      setImmediate(() => abort.abort());
      return request();
    };
    await expect(askMaster(asked, abort.signal, called)).rejects.toThrow(type);
  });
});
