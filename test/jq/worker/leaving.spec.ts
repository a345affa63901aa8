import { describe, expect, it } from '@jest/globals';
import { defineJob } from '../../../lib/job/job-definition.js';
import { messagePack } from '../../../lib/jq/message-pack/codec.js';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import { gate } from '../../support/gate.js';
import { until } from '../../support/until.js';
import { SlotTable } from '../../../lib/worker/function-slots.js';
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

describe('a function that a worker serves no more', () => {
  const master = useMaster();
  const proxyTo = useMasterProxies(master);

  it('stays with its master until this has its reports, and takes no jobs', async () => {
    const requests: string[] = [];
    let isDown = true;
    const url = await proxyTo({
      before: (what, response) => {
        requests.push(what);
        if (what !== 'POST /done' || !isDown) return false;
        response.writeHead(502).end();
        return true;
      },
    });
    const source = jq({ master: url, listen: { port: 0 }, pingInterval: '1s', onProblem: () => undefined });
    await source.open(['mail']);
    const claiming = source.claim(new SlotTable([['mail', 2]]), AbortSignal.timeout(10_000));
    const id = await master.enqueue({ name: 'mail', timeout: 3600, max_retry: 0 });
    const [claim] = await claiming;
    if (!claim) throw new Error('no job');
    const settled = source.settle([{ claim, status: 'success', output: Buffer.from([0xc0]) }]);
    await until(() => requests.includes('POST /done'));
    await source.withdraw?.(['mail']);
    const next = await master.enqueue({ name: 'mail', timeout: 3600, max_retry: 0 });
    const before = requests.length;
    await until(() => requests.slice(before).includes('POST /worker/ping'));
    expect(requests).not.toContain('DELETE /worker');
    await expect(master.job(id)).resolves.toMatchObject({ body: { status: 'running' } });
    await expect(master.job(next)).resolves.toMatchObject({ body: { status: 'queued' } });
    isDown = false;
    await expect(settled).resolves.toEqual([]);
    await until(() => requests.includes('DELETE /worker'));
    await expect(master.job(id)).resolves.toMatchObject({ body: { status: 'done' } });
    await source.close();
  });
});
