import { expect, it } from '@jest/globals';
import type { IncomingMessage } from 'node:http';
import { PageGuard } from '../../../lib/jq/http/page-guard.js';
import { signed } from '../../../lib/jq/wire/signature.js';
import { Pushes } from '../../../lib/jq/worker/pushes.js';
import { ReplayCache } from '../../../lib/jq/worker/replay-cache.js';
import { vector } from '../message-pack/vectors.js';

const URL = 'http://127.0.0.1:1';
const SECRET = 'correct horse';

it('A signed push that was answered is taken once, however often it is sent', async () => {
  let taken = 0;
  const settings = {
    maxJobs: 1,
    secrets: [SECRET],
    signatureWindow: 60_000,
    pingInterval: 1,
    maxBodyBytes: 1,
  };
  const pushes = new Pushes(settings, new PageGuard([], ''), async () => {
    taken += 1;
    return 202;
  });
  const body = Buffer.from(vector('POST /worker-job'));
  const request = { headers: signed(body, URL, SECRET) } as unknown as IncomingMessage;
  const push = (isThere: boolean) => {
    const onAnswered = (callback: (isThere: boolean) => void) => callback(isThere);
    return pushes.answer(request, body, { key: undefined, url: URL, onGone: () => undefined, onAnswered });
  };
  for (const isThere of [false, true, true]) {
    await expect(push(isThere)).resolves.toEqual({ status: 202 });
  }
  // Its sender had gone before the first answer, and sent it again.
  expect(taken).toBe(2);
});

it('A push is remembered for the time of its signature, and no longer than twice that', () => {
  const cache = new ReplayCache(100);
  cache.add('push', 1000);
  expect([1000, 1099, 1150].map((now) => cache.has('push', now))).toEqual([true, true, true]);
  expect(cache.has('push', 1250)).toBe(false);
});
