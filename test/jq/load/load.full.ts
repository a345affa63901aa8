import { beforeEach, describe, expect, it } from '@jest/globals';
import { useMaster } from '../master/use-master.js';
import { runLoad } from './load.js';

/** `npm run check -- jq-load` has more. */
const JOBS = 1500;
const SEED = 6;
const PATIENCE_MS = 200_000;

describe('a load on two masters', () => {
  const master = useMaster({ pushTimeout: '1m' });
  beforeEach(() => master.redis.redis.flushall());

  it(
    `of ${JOBS} jobs and 50 workers of mixed speed never exceeds max_jobs, a concurrency or a rate`,
    async () => {
      const other = await master.another();
      const { violations, most } = await runLoad({
        urls: [master.url, other.url],
        redis: master.redis.redis,
        jobs: JOBS,
        seed: SEED,
        patience: PATIENCE_MS,
      });
      expect(violations).toEqual([]);
      expect(most['narrow']).toBe(5);
      expect(most['tenant']).toBe(2);
    },
    PATIENCE_MS + 20_000,
  );

  it(
    'of a thousand requests at once from ten clients is answered as each of them would be alone',
    async () => {
      const other = await master.another();
      const worker = await master.register({ max_jobs: 1000 });
      const client = async (number: number) => {
        const http = number % 2 === 0 ? master : other;
        const ids = await Promise.all(Array.from({ length: 25 }, () => http.enqueue({ keep_result: true })));
        const requests = ids.flatMap((id) => [
          http.pull(worker, 10),
          http.job(id),
          http.post('/job', { name: 7 }),
          http.call('GET', `/job/${id}/polling?timeout=60`),
        ]);
        const finish = async (pull: Awaited<(typeof requests)[number]>) => {
          const { id: job_id, attempt } = pull.body as { id: string; attempt: number };
          const report = { job_id, attempt, type: 'success', result: job_id };
          return (await http.post('/done', report, { worker })).status;
        };
        const settled = requests.map(async (reply, i) =>
          i % 4 === 0 ? [(await reply).status, await finish(await reply)] : [(await reply).status],
        );
        const statuses = (await Promise.all(settled)).flat();
        const results = await Promise.all(ids.map(async (id) => (await http.job(id)).body));
        return {
          statuses,
          right: results.filter((body, i) => (body as { result: string }).result === ids[i]).length,
        };
      };
      const clients = await Promise.all(Array.from({ length: 10 }, (_, number) => client(number)));
      for (const { statuses, right } of clients) {
        const counts = [200, 204, 400].map((status) => statuses.filter((each) => each === status).length);
        expect([counts, right]).toEqual([[75, 25, 25], 25]);
      }
    },
    PATIENCE_MS,
  );
});
