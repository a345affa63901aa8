import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { Enqueuer } from '../../lib/gearmonkey/core/client/enqueuer.js';
import { RedisConnection } from '../../lib/redis/redis-connection.js';
import { freePort } from '../support/free-port.js';

const TIMEOUT_MS = 600;

describe('An enqueue during an outage', () => {
  it('has its own deadline although others of its queue have waited longer', async () => {
    const connection = new RedisConnection(`redis://127.0.0.1:${await freePort()}`, 'test');
    const enqueuer = new Enqueuer(connection, { timeout: TIMEOUT_MS });
    const waits: Promise<number>[] = [];
    for (let i = 0; i < 12; i++) {
      waits.push(timeToReject(enqueuer));
      await sleep(TIMEOUT_MS / 10);
    }
    const times = await Promise.all(waits);
    connection.close();
    expect(Math.min(...times)).toBeGreaterThan(TIMEOUT_MS * 0.85);
  });
});

async function timeToReject(enqueuer: Enqueuer): Promise<number> {
  const start = performance.now();
  const error = await enqueuer.add('f', ['input'], { queue: 'normal' }).catch((thrown: Error) => thrown);
  expect(error).toMatchObject({ code: 'ENQUEUE_TIMEOUT' });
  return performance.now() - start;
}
