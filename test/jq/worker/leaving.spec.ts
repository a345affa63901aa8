import { describe, expect, it } from '@jest/globals';
import { defineJob } from '../../../lib/job/job-definition.js';
import { messagePack } from '../../../lib/jq/message-pack/codec.js';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import { gate } from '../../support/gate.js';
import { runWorker, stopWorkers, stopWorkersAfterEach } from '../../support/run-worker.js';
import { useMaster } from '../master/use-master.js';
import { useMasterProxies } from './master-proxy.js';

describe('a worker that leaves while its master says "later"', () => {
  const master = useMaster();
  stopWorkersAfterEach();
  const proxyTo = useMasterProxies(master);

  /** The master, but each of these requests is answered 503 the first time. `replies` are what was answered to them. */
  async function unwilling(...requests: string[]): Promise<{ url: string; replies: string[] }> {
    const replies: string[] = [];
    const url = await proxyTo({
      before: (what, response) => {
        if (!requests.includes(what) || replies.includes(`${what} 503`)) return false;
        replies.push(`${what} 503`);
        response.writeHead(503, { 'retry-after': '0' }).end();
        return true;
      },
      after: (what, status) => {
        if (requests.includes(what)) replies.push(`${what} ${status}`);
        return false;
      },
    });
    return { url, replies };
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
