import { describe, expect, it } from '@jest/globals';
import type { Claim, JobSource } from '../../../lib/job/job-source.js';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import { SlotTable } from '../../../lib/worker/function-slots.js';
import { until } from '../../support/until.js';
import { useMaster } from '../master/use-master.js';

describe('the turns of functions whose pushes were refused', () => {
  const master = useMaster();

  const worker = async (functions: readonly string[], maxJobs?: number): Promise<JobSource> => {
    const source = jq({ master: master.url, listen: { port: 0 }, ...(maxJobs ? { maxJobs } : {}) });
    await source.open(functions);
    return source;
  };
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
    const slots = new SlotTable([
      ['mail', 1],
      ['resize', 1],
    ]);
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
