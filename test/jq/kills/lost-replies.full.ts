import { afterEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { defineJob } from '../../../lib/job/job-definition.js';
import { JqClient } from '../../../lib/jq/client/jq-client.js';
import { listenMaster, type JqMaster } from '../../../lib/jq/master/listen-master.js';
import { messagePack } from '../../../lib/jq/message-pack/codec.js';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import { freePort } from '../../support/free-port.js';
import { runWorker, stopWorkers } from '../../support/run-worker.js';
import { until } from '../../support/until.js';
import { useRedis } from '../../support/use-redis.js';
import { faultsOf, rerunsOf, type Event } from './history.js';
import { leftovers, timedOut } from './leftovers.js';
import { Losses, LossyLine } from './lossy-line.js';
import { People } from './people.js';
import { PlainFleetWorker, type PlainOptions } from './plain-fleet.js';

/** Waves of jobs; the long form: JQ_WAVES=100. */
const WAVES = Number(process.env['JQ_WAVES'] ?? 4);
const SEED = Number(process.env['JQ_SEED'] ?? 1);
/** The limit of waves in which each route should lose a reply. */
const MOST_WAVES = WAVES + 80;
const A_WAVE = 30;
const READS_AT_ONCE = 100;
/** One reply of so many is lost. */
const ONE_OF = 8;
const PATIENCE_MS = 90_000;
const SOON = {
  ...{ backoff: 50, grace: 500, pushTimeout: '3s', suspect: 20, suspectCap: 200, silence: '3s' },
  ...{ forgetWorker: '2s', lostAfter: 100, maxLosses: 100 },
  // Results are read twice, which takes a while where there are thousands.
  readResult: '1h',
} as const;

/** Met once a worker has been silent for `forgetWorker`. */
const PROBE = 'HEAD /worker-job';
/** Met only once all waves are over. */
const AT_THE_END = new Set([
  ...[PROBE, 'DELETE /worker', 'GET /constraints', 'DELETE /constraints/{id}', 'GET /job/{id}/polling'],
]);
const ROUTES = [
  ...['POST /job', 'GET /job/{id}', 'GET /job/{id}/polling', 'DELETE /job/{id}'],
  ...['POST /worker', 'DELETE /worker', 'POST /worker/ping', 'POST /worker/pull'],
  ...['POST /worker/confirm', 'POST /worker/release'],
  ...['POST /done', 'POST /done batch', 'POST /worker-job', 'POST /worker-job batch', PROBE],
  ...['GET /constraints', 'POST /constraints', 'PUT /constraints/{id}', 'DELETE /constraints/{id}'],
  ...['POST /api/jobs/{id}/retry', 'DELETE /api/jobs/{id}', 'DELETE /api/workers/{worker}'],
  ...['POST /api/dead-letters/{id}/requeue', 'DELETE /api/dead-letters/{id}'],
];

describe('replies that are lost once the request was taken', () => {
  const used = useRedis();
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    await stopWorkers();
    for (const close of closing.splice(0).toReversed()) await close();
  });

  it(
    'on every route, lose no job, run none twice that all knew of, and leave nothing behind',
    async () => {
      const losses = new Losses(SEED, ONE_OF);
      const lines: LossyLine[] = [];
      const line = async (to: string) => {
        const started = await LossyLine.start(() => to, losses);
        closing.push(() => started.close());
        lines.push(started);
        return started.url;
      };
      const masters = await Promise.all(
        [1, 2].map((): Promise<JqMaster> => listenMaster({ connection: used.url, port: 0, ...SOON })),
      );
      for (const master of masters) closing.push(() => master.close());
      const [first = '', second = ''] = await Promise.all(masters.map(({ url }) => line(url)));
      const events: Event[] = [];

      const plain = (options: Partial<PlainOptions>) =>
        PlainFleetWorker.start({ masters: [first, second], names: ['work'], events, ...options });
      const fleet = await Promise.all([
        plain({ reachedBy: line }),
        plain({ reachedBy: line, batch: 10, maxJobs: 10 }),
        plain({ names: ['work', 'pulled'], releases: ({ attempt }) => attempt % 3 === 1 }),
        plain({ names: ['work', 'pulled'], batch: 10 }),
      ]);
      for (const pushed of [true, false]) {
        const port = await freePort();
        const listen = pushed ? { listen: { port, url: await line(`http://127.0.0.1:${port}`) } } : {};
        const source = jq({ master: second, pingInterval: 300, onProblem: () => undefined, ...listen });
        await runWorker(
          source,
          defineJob('work', { codec: messagePack }),
          (_, job) => {
            const nonce = randomUUID();
            const attempt = job.attempts;
            events.push({ type: 'begun', job: job.id, attempt, worker: 'ours', nonce });
            return nonce;
          },
          { concurrency: 8 },
        );
      }

      const people = new People(first);
      const client = new JqClient({ master: first, timeout: '60s' });
      closing.push(() => client.close());
      const enqueue = async (_: unknown, n: number): Promise<void> => {
        const key = randomUUID();
        const options = { keepResult: true, timeout: '5s', maxRetry: 50, idempotencyKey: key };
        const { id } = await client.enqueue(n % 3 === 0 ? 'pulled' : 'work', {}, options);
        events.push({ type: 'accepted', key, job: id });
        const other = await client.enqueue(`nobodys-${key}`, {});
        await client.cancel(other.id);
      };
      const isMissing = () =>
        ROUTES.some((route) => !AT_THE_END.has(route) && !losses.routes.includes(route));
      for (let wave = 0; wave < WAVES || (isMissing() && wave < MOST_WAVES); wave++) {
        await Promise.all(Array.from({ length: A_WAVE }, enqueue));
        await Promise.all([people.work(), fleet.at(-1)?.ping()]);
      }
      const accepted = events.filter((event) => event.type === 'accepted');
      const ended: Event[] = [];
      const readEnd = async ({ job }: { readonly job: string }): Promise<Event> => {
        await client.get(job);
        const view = await until(() => client.poll(job, { timeout: '30s' }), { timeout: PATIENCE_MS });
        return { type: 'ended', job, status: view.status, result: view.result };
      };
      // Thousands at once would wait for a connection for longer than the client's timeout.
      for (let from = 0; from < accepted.length; from += READS_AT_ONCE) {
        ended.push(...(await Promise.all(accepted.slice(from, from + READS_AT_ONCE).map(readEnd))));
      }
      await until(() => losses.routes.includes(PROBE));
      await Promise.all(fleet.map((worker) => worker.leave()));
      await stopWorkers();

      const history = [...events, ...lines.flatMap((each) => each.events), ...ended];
      expect(faultsOf(history)).toEqual([]);
      const late = await timedOut(
        used.redis,
        accepted.map(({ job }) => job),
      );
      expect(rerunsOf(history, new Set([...losses.excused, ...late]))).toEqual([]);
      await people.forgetConstraints();
      // Registrations whose reply was lost are found out by silence, and by a 410.
      await until(async () => (await leftovers(used.redis)).length === 0, {
        timeout: PATIENCE_MS,
        interval: 100,
        seen: () => leftovers(used.redis),
      });
      expect(losses.routes).toEqual([...ROUTES].sort());
    },
    PATIENCE_MS * (2 + WAVES),
  );
});
