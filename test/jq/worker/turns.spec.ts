import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { Claim, JobSource } from '../../../lib/job/job-source.js';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import { SlotTable } from '../../../lib/worker/function-slots.js';
import { gate } from '../../support/gate.js';
import { until } from '../../support/until.js';
import { useMaster } from '../master/use-master.js';
import { cut, useMasterProxies } from './master-proxy.js';

describe('the turns of functions whose pushes were refused', () => {
  const master = useMaster();
  const proxyTo = useMasterProxies(master);
  beforeEach(() => master.redis.redis.flushall());

  const worker = async (
    functions: readonly string[],
    maxJobs?: number,
    url = master.url,
  ): Promise<JobSource> => {
    const onProblem = () => undefined;
    const source = jq({ master: url, listen: { port: 0 }, onProblem, ...(maxJobs ? { maxJobs } : {}) });
    await source.open(functions);
    return source;
  };
  const oneEach = () =>
    new SlotTable([
      ['mail', 1],
      ['resize', 1],
    ]);
  const enqueue = async (name: string, count: number) => {
    for (let i = 0; i < count; i++) await master.enqueue({ name, argument: {} });
  };
  const claimed = (source: JobSource, slots: SlotTable) => source.claim(slots, AbortSignal.timeout(10_000));
  const end = (source: JobSource, claims: readonly Claim[]) =>
    source.settle(
      claims.map((claim) => ({ claim, status: 'success', output: Buffer.from([0xc0]) }) as never),
    );
  const resting = () => master.redis.redis.zcard('{jq}:resting');

  it('a place that all functions share goes to the one that was refused, before the one that had it', async () => {
    const source = await worker(['mail', 'resize'], 1);
    const slots = oneEach();
    const first = claimed(source, slots);
    await enqueue('resize', 1);
    const claims = await first;
    await enqueue('resize', 3);
    await enqueue('mail', 1);
    await until(async () => (await resting()) === 1);
    const next = claimed(source, slots);
    await end(source, claims);
    const taken = await next;
    expect(taken.map(({ fn }) => fn)).toEqual(['mail']);
    await end(source, taken);
    await expect(claimed(source, slots)).resolves.toMatchObject([{ fn: 'resize' }]);
    await source.close();
  });

  it.each([
    ['lost', cut],
    ['replaced by a page', (response: ServerResponse) => response.writeHead(502).end('<html></html>')],
  ])('a job whose pull had its reply %s is pulled again, without a retry', async (_, lose) => {
    let pulls = 0;
    const url = await proxyTo({
      after: (what, status, response) => {
        if (!what.startsWith('POST /worker/pull') || status !== 200 || ++pulls > 1) return false;
        lose(response);
        return true;
      },
    });
    const source = await worker(['mail', 'resize'], 1, url);
    const slots = oneEach();
    const first = claimed(source, slots);
    await enqueue('resize', 1);
    const claims = await first;
    const id = await master.enqueue({ name: 'mail', argument: {}, max_retry: 0, timeout: 3600 });
    await until(async () => (await resting()) === 1);
    const next = claimed(source, slots);
    await end(source, claims);
    await expect(next).resolves.toMatchObject([{ fn: 'mail', id, attempts: 1 }]);
    expect(pulls).toBe(2);
    await source.close();
  });

  it('a function that repeats its pull begins no other one, and others have the place meanwhile', async () => {
    const repeated = gate<() => unknown>();
    let pulls = 0;
    const url = await proxyTo({
      after: (what, status, response, bytes) => {
        if (!what.startsWith('POST /worker/pull') || ++pulls > 2) return false;
        if (pulls === 1) return cut(response);
        repeated.open(() => response.writeHead(status).end(bytes));
        return true;
      },
    });
    const source = await worker(['mail', 'resize'], 1, url);
    const slots = oneEach();
    let claims = claimed(source, slots);
    await enqueue('resize', 1);
    const first = await claims;
    const id = await master.enqueue({ name: 'mail', argument: {}, max_retry: 0, timeout: 3600 });
    await until(async () => (await resting()) === 1);
    claims = claimed(source, slots);
    await end(source, first);
    const answer = await repeated.passed;
    for (let job = 0; job < 2; job++) {
      await enqueue('resize', 1);
      const taken = await claims;
      expect(taken).toMatchObject([{ fn: 'resize' }]);
      claims = claimed(source, slots);
      await end(source, taken);
    }
    answer();
    await expect(claims).resolves.toMatchObject([{ fn: 'mail', id }]);
    expect(pulls).toBe(2);
    await source.close();
  });

  it('a function with fewer slots than it had gets a job for each, although the master lets it rest', async () => {
    const source = await worker(['mail']);
    const slots = new SlotTable([['mail', 3]]);
    const first = claimed(source, slots);
    await enqueue('mail', 1);
    const claims = await first;
    slots.set('mail', 0);
    const next = claimed(source, slots);
    await enqueue('mail', 1);
    await until(async () => (await resting()) === 1);
    await end(source, claims);
    slots.set('mail', 1);
    await expect(next).resolves.toHaveLength(1);
    await expect(resting()).resolves.toBe(1);
    await source.close();
  });
});
