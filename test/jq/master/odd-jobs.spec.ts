import { beforeEach, describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import { useMaster } from './use-master.js';

/** A map of one entry: a timestamp of a length that none has. */
const ODD = Buffer.concat([Buffer.of(0x81), encode('tenant'), Buffer.from('c703ff000000', 'hex')]);

describe('a job whose argument no condition can read', () => {
  const master = useMaster();
  beforeEach(() => master.redis.redis.flushall());

  const enqueueOdd = () => {
    const fields = [encode('name'), encode('mail'), encode('argument'), ODD];
    return master.call('POST', '/job', {
      body: Buffer.concat([Buffer.of(0x82), ...fields]),
      headers: { 'content-type': 'application/msgpack' },
    });
  };
  const limitTenants = () => master.post('/constraints', { per: 'argument.tenant', concurrency: 5 });
  const pullAll = async (count: number) => {
    const worker = await master.register({ max_jobs: count });
    for (let i = 0; i < count; i++) {
      // Its body is not for every codec.
      const pulled = await fetch(`${master.url}/worker/pull?timeout=20`, {
        method: 'POST',
        headers: { 'worker-id': worker },
      });
      expect(pulled.status).toBe(200);
      await pulled.arrayBuffer();
    }
  };

  it('is accepted if a constraint tests it', async () => {
    await limitTenants();
    await expect(enqueueOdd()).resolves.toMatchObject({ status: 201 });
    await pullAll(1);
  });

  it('is handed out, as are the others, when the constraint comes later', async () => {
    await expect(enqueueOdd()).resolves.toMatchObject({ status: 201 });
    for (let i = 0; i < 3; i++) await master.enqueue();
    await limitTenants();
    await pullAll(4);
  });

  it('holds up no other when it is not even MessagePack', async () => {
    const id = await master.enqueue();
    await master.redis.redis.hset(`{jq}:job:${id}`, 'argument', Buffer.from('8fa1', 'hex'));
    await master.enqueue();
    await limitTenants();
    await pullAll(2);
  });
});
