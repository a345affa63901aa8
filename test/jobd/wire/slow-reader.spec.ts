import { describe, expect, it } from '@jest/globals';
import { until } from '../../support/until.js';
import { useWorker } from './use-worker.js';

const REQUESTS = 30_000;
const TYPE = 'x'.repeat(990);

describe('a client that does not read its replies', () => {
  const worker = useWorker();

  it('is not read either, while others are served, and gets all of them when it reads', async () => {
    const [client, other] = [await worker.client(), await worker.client()];
    client.socket.pause();
    client.write(`[0,{"no":1,"type":"${TYPE}"}]\x04`.repeat(REQUESTS));
    // What the systems' buffers take is gone at some time; the rest stays where it is.
    let left = Infinity;
    await until(async () => {
      for (let asked = 0; asked < 200; asked++) await other.answers();
      const before = left;
      left = client.socket.writableLength;
      return left === before;
    });
    expect(left).toBeGreaterThan(1 << 20);
    client.socket.resume();
    await client.take(REQUESTS);
    expect(client.socket.writableLength).toBe(0);
  });
});
