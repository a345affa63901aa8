import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { jq } from '../../../lib/jq/worker/jq-source.js';

it('a source whose start fails starts when it is opened again', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const source = jq({ master: 'http://127.0.0.1:1', listen: { port, host: '127.0.0.1' } });
  await expect(source.open(['mail'])).rejects.toThrow('EADDRINUSE');
  other.close();
  await once(other, 'close');
  await source.open(['mail']);
  await expect(fetch(`http://127.0.0.1:${port}`, { method: 'POST' })).resolves.toMatchObject({ ok: false });
  await source.close();
});
