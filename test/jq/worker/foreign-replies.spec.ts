import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { encode } from '@msgpack/msgpack';
import { defineJob } from '../../../lib/job/job-definition.js';
import { messagePack } from '../../../lib/jq/message-pack/codec.js';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import { gate } from '../../support/gate.js';
import { runWorker, stopWorkers, stopWorkersAfterEach } from '../../support/run-worker.js';
import { eventually, until } from '../../support/until.js';
import { useMaster } from '../master/use-master.js';
import { useMasterProxies } from './master-proxy.js';

const JOBS = 10;
const mail = defineJob('mail', { codec: messagePack });

function page(response: ServerResponse, status: number): true {
  response
    .writeHead(status, { 'content-type': 'text/html', 'retry-after': '300' })
    .end('<html>Not here.</html>');
  return true;
}

function empty(response: ServerResponse, status: number): true {
  response.writeHead(status, { location: 'http://127.0.0.1:1/login' }).end();
  return true;
}

describe('an answer of something between a worker and its master', () => {
  const master = useMaster();
  stopWorkersAfterEach();
  const proxyTo = useMasterProxies(master);
  beforeEach(() => master.redis.redis.flushall());

  const statusOf = async (id: string) => ((await master.job(id)).body as { status: string }).status;

  /** A worker behind something that answers the first of these requests. */
  async function worker(route: string, answer: (response: ServerResponse) => true, listens = true) {
    let answered = 0;
    const before = (what: string, response: ServerResponse) =>
      what.startsWith(route) && answered++ === 0 && answer(response);
    const problems: string[] = [];
    const source = jq({
      master: await proxyTo({ before }),
      ...(listens && { listen: { port: 0 } }),
      onProblem: (message) => problems.push(message),
    });
    return { source, problems };
  }

  it.each([
    ...[200, 201, 301, 307, 400, 403, 404, 405, 407, 408, 409, 413, 414, 421, 425, 431, 451, 499].map(
      (status) => ['page', status, page] as const,
    ),
    ...[200, 201, 302, 400, 404, 405, 407, 408, 409, 411, 413, 415, 421, 425].map(
      (status) => ['reply', status, empty] as const,
    ),
  ])('is no answer to a report: a %s of %d', async (_, status, answer) => {
    const { source, problems } = await worker('POST /done', (response) => answer(response, status));
    let runs = 0;
    await runWorker(source, mail, () => ++runs);
    const id = await master.enqueue({ max_retry: 0, timeout: 3600 });
    await until(async () => ['done', 'error'].includes(await statusOf(id)));
    expect([await statusOf(id), runs]).toEqual(['done', 1]);
    expect(problems).toEqual([expect.stringMatching(new RegExp(`A report waits .*${status}`))]);
  });

  it.each([429, 503])('does not keep a report back for as long as it asks: a page of %d', async (status) => {
    const { source } = await worker('POST /done', (response) => page(response, status));
    await runWorker(source, mail, () => undefined);
    const id = await master.enqueue({ max_retry: 0, timeout: 3600 });
    await until(async () => (await statusOf(id)) === 'done');
  });

  it('is no answer to a batch of reports', async () => {
    const { source } = await worker('POST /done', (response) => page(response, 200));
    const all = gate();
    let runs = 0;
    const handle = () => {
      runs += 1;
      if (runs === JOBS) all.open();
      return all.passed;
    };
    await runWorker(source, mail, handle, { concurrency: JOBS });
    const ids = await Promise.all(Array.from({ length: JOBS }, () => master.enqueue({ timeout: 3600 })));
    await until(async () => (await Promise.all(ids.map(statusOf))).every((status) => status === 'done'));
    expect(runs).toBe(JOBS);
  });

  it.each([
    ['a redirection', (response: ServerResponse) => empty(response, 302)],
    ['a page', (response: ServerResponse) => page(response, 413)],
    [
      'a refusal of the master',
      (response: ServerResponse) => {
        response.writeHead(413).end(encode({ code: 'PAYLOAD_TOO_LARGE', message: 'no' }));
        return true as const;
      },
    ],
  ])('to the release of a job is no failure of this: %s', async (_, answer) => {
    const { source } = await worker('POST /worker/release', answer);
    const running = gate();
    const handle = () => {
      running.open();
      return new Promise(() => undefined);
    };
    await runWorker(source, mail, handle);
    const id = await master.enqueue({ timeout: 3600, max_retry: 0 });
    await running.passed;
    await stopWorkers();
    await expect(master.job(id)).resolves.toMatchObject({ body: { status: 'queued', retry_count: 0 } });
  });

  it.each([
    ...[200, 404, 502].map((status) => ['page', status, page] as const),
    ...[200, 201, 403].map((status) => ['reply', status, empty] as const),
  ])('to a pull may stand for one with a job: a %s of %d', async (_what, status, answer) => {
    let lost = 0;
    const url = await proxyTo({
      after: (what, replied, response) =>
        what.startsWith('POST /worker/pull') && replied === 200 && lost++ === 0 && answer(response, status),
    });
    const ran: string[] = [];
    const source = jq({ master: url, onProblem: () => undefined });
    await runWorker(source, mail, (_, { id }) => void ran.push(id));
    const id = await master.enqueue({ max_retry: 0, timeout: 3600 });
    await until(async () => (await statusOf(id)) === 'done');
    expect([lost, ran]).toEqual([2, [id]]);
  });

  it.each([
    ['POST /worker', 200],
    ['POST /worker', 429],
    ['POST /worker/ping', 404],
    ['POST /worker/ping', 503],
    ['DELETE /worker', 200],
    ['DELETE /worker', 503],
    ['DELETE /worker', 200, empty],
    ['POST /worker/ping', 200, empty],
  ])('to %s is none: a %d, however long it asks to wait', async (route, status, answer = page) => {
    const asked: string[] = [];
    const url = await proxyTo({
      before: (what, response) => {
        asked.push(what);
        return (
          what === route && asked.filter((each) => each === route).length === 1 && answer(response, status)
        );
      },
    });
    const source = jq({ master: url, listen: { port: 0 }, pingInterval: '1h', onProblem: () => undefined });
    await runWorker(source, mail, () => undefined);
    await eventually(() => expect(asked).toContain('POST /worker/ping'));
    if (route === 'DELETE /worker') await stopWorkers();
    await eventually(() => expect(asked.filter((each) => each === route)).toHaveLength(2));
  });
});
