import { expect, it } from '@jest/globals';
import { Backoff } from '../../../lib/jq/http/backoff.js';

it('What is paced waits if it comes again soon, and not the first time or after long', async () => {
  const backoff = new Backoff();
  // A wait ends at once with this signal.
  const over = AbortSignal.abort(new Error('over'));
  await expect(backoff.pace(60_000, over)).resolves.toBeUndefined();
  await expect(backoff.pace(60_000, over)).rejects.toThrow('aborted');
  await expect(backoff.pace(-1, over)).resolves.toBeUndefined();
});
