import { afterEach, describe, expect, it } from '@jest/globals';
import { useRedis } from '../support/use-redis.js';
import { SampleProcess, stopSamples } from './sample-process.js';

const ANSWER = 'You asked: Why? I would not know, but I say so word by word.';

describe('sample/09-tokens', () => {
  const redis = useRedis();
  afterEach(stopSamples);

  /** The tokens of an answer, as a browser gets them. */
  async function tokens(url: string, lastEventId = ''): Promise<unknown[]> {
    const text = await (await fetch(url, { headers: { 'last-event-id': lastEventId } })).text();
    return [...text.matchAll(/^id: \d+\ndata: (.*)$/gm)].map(([, data = '']) => JSON.parse(data) as unknown);
  }

  it.each(['memory', 'redis'])('streams tokens to a browser, on %s', async (kind) => {
    const sample = new SampleProcess(['09-tokens'], {
      PORT: '0',
      ...(kind === 'redis' && { REDIS_URL: redis.url }),
    });
    const url = await sample.says(/^Open (\S+)$/m);
    const response = await fetch(`${url}/answers?question=Why%3F`, { method: 'POST' });
    const { tokens: path } = (await response.json()) as { tokens: string };
    const live = await tokens(url + path);
    expect(live.length).toBeGreaterThan(10);
    expect(live.join('')).toBe(ANSWER);
    // The job has ended: who comes late gets all of them.
    await expect(tokens(url + path)).resolves.toEqual(live);
    await expect(tokens(url + path, '3')).resolves.toEqual(live.slice(3));
    expect((await fetch(`${url}/answers/999/tokens`)).status).toBe(404);
  });
});
