import { describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { decode, encode } from '@msgpack/msgpack';
import { freePort } from '../../support/free-port.js';
import { eventually, until } from '../../support/until.js';
import { useRedis } from '../../support/use-redis.js';
import { killProcessesAfterEach, masterProcess, Process, urlOf } from '../program/processes.js';
import { faultsOf, mostAtOnce, type Event } from './history.js';
import { leftoversOfJobs } from './leftovers.js';

const JOBS = 300;
/** How far the pusher is ahead of the workers, so that it is at work whenever something is killed. */
const AHEAD = 40;
const LANES = 8;
const WORKER_JOBS = 4;
const WORKERS = 3;
/** Fewer than all workers have room for. */
const LIMIT = 9;
/** What a killed master was pushing, and a killed worker was running, is not waited for long. */
const SOON = ['--push-timeout', '2s', '--grace', '500ms', '--backoff', '100ms', '--max-losses', '50'];
const PATIENCE_MS = 120_000;
const WORKER = fileURLToPath(new URL('./worker.mjs', import.meta.url));

describe('masters and workers that are killed under load', () => {
  const used = useRedis();
  killProcessesAfterEach();

  it(
    'lose no accepted job, make none twice, and accept no second result',
    async () => {
      const ports = [await freePort(), await freePort()];
      const start = (i: number) => masterProcess(['--redis', used.url, '--port', String(ports[i]), ...SOON]);
      const masters = ports.map((_, i) => start(i));
      const urls = await Promise.all(masters.map(urlOf));
      const everyone: Process[] = [];
      /** Every other one takes and sends batches. */
      const hire = async (port: number) => {
        const batch = everyone.length % 2 === 0 ? '1' : '3';
        const args = [WORKER, urls.join(), String(WORKER_JOBS), batch, String(port)];
        const worker = new Process(process.execPath, args);
        everyone.push(worker);
        await worker.says(1);
        return worker;
      };
      const ofWorkers = await Promise.all(Array.from({ length: WORKERS }, () => freePort()));
      const workers = await Promise.all(ofWorkers.map(hire));
      const pusher = new Pusher(urls);
      const events = () => everyone.flatMap(({ lines }) => lines.map((line) => JSON.parse(line) as Event));
      const reports = () => events().filter(({ type }) => type === 'reported').length;
      /** Lets the pusher go on to so many jobs, and waits until some of them have run. */
      const runs = (count: number, allowance: number) => {
        pusher.allowance = allowance;
        return until(() => reports() >= count, { timeout: PATIENCE_MS });
      };
      const replaceWorker = async (i: number) => {
        await workers[i]?.end('SIGKILL');
        // Where it was: the masters still push there for the one that was killed.
        workers[i] = await hire(ofWorkers[i] ?? 0);
      };
      const replaceMaster = async (i: number) => {
        await masters[i]?.end('SIGKILL');
        const master = start(i);
        masters[i] = master;
        await urlOf(master);
      };

      await pusher.limit('work', LIMIT);
      const pushing = pusher.push(JOBS, reports);
      await runs(30, 100);
      await replaceWorker(0);
      await runs(120, 200);
      await Promise.all([replaceWorker(1), replaceMaster(0)]);
      await runs(220, JOBS);
      expect(pusher.accepted.length).toBeLessThan(JOBS);
      await Promise.all([replaceMaster(0), replaceMaster(1), replaceWorker(2)]);
      await pushing;

      const ends = [...(await pusher.read()), ...(await pusher.read())];
      expect(faultsOf([...pusher.accepted, ...events(), ...ends])).toEqual([]);
      expect(mostAtOnce(events())).toBeLessThanOrEqual(LIMIT);
      await eventually(async () => expect(await leftoversOfJobs(used.redis)).toEqual([]));
      const { done, error, queued } = await pusher.counts();
      expect({ done, error, queued }).toEqual({ done: JOBS, error: 0, queued: 0 });
    },
    PATIENCE_MS * 2,
  );
});

/** Asks again, of whichever master answers, until it has an answer. */
class Pusher {
  readonly accepted: Event[] = [];
  allowance = 0;
  private calls = 0;

  constructor(private readonly urls: readonly string[]) {}

  async push(count: number, reports: () => number): Promise<void> {
    let sent = 0;
    const lane = async () => {
      // The number is taken before the wait: eight that wait for the last job would push eight.
      for (let n = sent++; n < count; n = sent++) {
        await eventually(
          () => expect(this.accepted.length).toBeLessThan(Math.min(reports() + AHEAD, this.allowance)),
          {
            timeout: PATIENCE_MS,
          },
        );
        const key = `job-${n}`;
        const body = encode({ name: 'work', argument: {}, keep_result: true, timeout: 2, max_retry: 20 });
        const { job_id: job } = (await this.call('POST', '/job', body, key)) as { job_id: string };
        this.accepted.push({ type: 'accepted', key, job });
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  }

  /** How each job ended, once it has. */
  async read(): Promise<Event[]> {
    return Promise.all(
      this.accepted.map(async (event) => {
        const job = 'job' in event ? event.job : '';
        const view = (await this.call('GET', `/job/${job}/polling?timeout=60`)) as {
          status: string;
          result: unknown;
        };
        return { type: 'ended', job, status: view.status, result: view.result };
      }),
    );
  }

  async counts(): Promise<Record<string, number>> {
    return (await this.call('GET', '/api/counts')) as Record<string, number>;
  }

  /** How many jobs of the name may run at a time. */
  async limit(name: string, concurrency: number): Promise<void> {
    await this.call('POST', '/constraints', encode({ match: [{ field: 'name', equal: name }], concurrency }));
  }

  private async call(method: string, path: string, body?: Uint8Array, key?: string): Promise<unknown> {
    const reply = await until(
      async () => {
        const url = this.urls[this.calls++ % this.urls.length] + path;
        const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
        const response = await fetch(url, { method, headers, ...(body ? { body } : {}) }).catch(
          () => undefined,
        );
        const bytes = await response?.arrayBuffer().catch(() => undefined);
        return response?.ok && bytes ? { bytes } : undefined;
      },
      { timeout: PATIENCE_MS, message: `No answer to ${method} ${path}` },
    );
    return decode(reply.bytes);
  }
}
