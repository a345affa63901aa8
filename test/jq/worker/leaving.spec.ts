import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { defineJob } from '../../../lib/job/job-definition.js';
import { messagePack } from '../../../lib/jq/message-pack/codec.js';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import { gate } from '../../support/gate.js';
import { runWorker, stopWorkers, stopWorkersAfterEach } from '../../support/run-worker.js';
import { useMaster } from '../master/use-master.js';

describe('a worker that leaves while its master says "later"', () => {
  const master = useMaster();
  stopWorkersAfterEach();
  const proxies: Server[] = [];
  afterEach(() => {
    for (const proxy of proxies.splice(0)) proxy.close().closeAllConnections();
  });

  /** The master, but each of these requests is answered 503 the first time. `replies` are what was answered to them. */
  async function unwilling(...requests: string[]): Promise<{ url: string; replies: string[] }> {
    const replies: string[] = [];
    const proxy = createServer(async (request, response) => {
      const { method = '', url = '', headers } = request;
      const body = await buffer(request);
      const what = `${method} ${url}`;
      if (requests.includes(what) && !replies.includes(`${what} 503`)) {
        replies.push(`${what} 503`);
        response.writeHead(503, { 'retry-after': '0' }).end();
        return;
      }
      const reply = await master.call(method, url, {
        worker: headers['worker-id'] as string | undefined,
        headers: { 'content-type': 'application/msgpack' },
        ...(body.length > 0 ? { body } : {}),
      });
      if (requests.includes(what)) replies.push(`${what} ${reply.status}`);
      response.writeHead(reply.status).end(reply.bytes);
    });
    proxies.push(proxy);
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, replies };
  }

  it('releases its job and unregisters, retrying until both are answered', async () => {
    const { url, replies } = await unwilling('POST /worker/release', 'DELETE /worker');
    const running = gate();
    const handle = () => {
      running.open();
      return new Promise(() => undefined);
    };
    const source = jq({ master: url, listen: { port: 0 }, onProblem: () => undefined });
    await runWorker(source, defineJob('mail', { codec: messagePack }), handle);
    const id = await master.enqueue({ timeout: 3600, max_retry: 0 });
    await running.passed;
    await stopWorkers();
    expect(replies).toEqual([
      'POST /worker/release 503',
      'POST /worker/release 204',
      'DELETE /worker 503',
      'DELETE /worker 204',
    ]);
    await expect(master.job(id)).resolves.toMatchObject({ body: { status: 'queued', retry_count: 0 } });
  });
});
