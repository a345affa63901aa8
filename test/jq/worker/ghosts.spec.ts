import { beforeEach, describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import type { ServerResponse } from 'node:http';
import { defineJob } from '../../../lib/job/job-definition.js';
import { messagePack } from '../../../lib/jq/message-pack/codec.js';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import { freePort } from '../../support/free-port.js';
import { bindHandler, type JobHandler } from '../../../lib/worker/job-handler.js';
import { gate } from '../../support/gate.js';
import { runWorker, stopWorkers, stopWorkersAfterEach } from '../../support/run-worker.js';
import { eventually, until } from '../../support/until.js';
import { useMaster } from '../master/use-master.js';
import { cut, useMasterProxies } from './master-proxy.js';
import { scriptedMaster, stopScriptedMastersAfterEach } from './scripted-master.js';

const JOBS = 40;
const WORK = defineJob('work', { codec: messagePack });

describe('a registration that is over', () => {
  const master = useMaster();
  stopWorkersAfterEach();
  beforeEach(() => master.redis.redis.flushall());
  const proxyTo = useMasterProxies(master);

  const workers = async () => master.redis.redis.zcard('{jq}:workers');
  const run = async (url: string, port: number, goOn?: Promise<unknown>) => {
    const ran: string[] = [];
    const source = jq({ master: url, listen: { port }, onProblem: () => undefined });
    const handle: JobHandler = async (_, { id }) => {
      ran.push(id);
      await goOn;
    };
    await runWorker(source, WORK, handle, { concurrency: 4 });
    return ran;
  };
  const enqueueAll = () =>
    Promise.all(Array.from({ length: JOBS }, () => master.enqueue({ name: 'work', max_retry: 0 })));
  const allDone = () =>
    until(async () => (await master.redis.redis.zcard('{jq}:status:done')) === JOBS, { timeout: 60_000 });

  it('of a process that was killed takes no jobs of the one that listens there now', async () => {
    const port = await freePort();
    // As a killed process leaves it: at the same address, never heard of again.
    for (const key of ['0'.repeat(24), '1'.repeat(24)]) {
      await master.register({ name: 'ghost', max_jobs: 4, url: `http://127.0.0.1:${port}/${key}` });
    }
    const goOn = gate();
    const ran = await run(master.url, port, goOn.passed);
    await eventually(async () => expect(await workers()).toBe(3));
    const ids = await enqueueAll();
    // What the worker has no slot for goes to the others, until they are known to be gone.
    await eventually(async () => expect(await workers()).toBe(1));
    goOn.open();
    await allDone();
    expect(ran.toSorted()).toEqual(ids.toSorted());
  });

  it('whose reply was lost takes no jobs of the one that followed', async () => {
    let lost = 0;
    const url = await proxyTo({
      after: (what, _, response) => what === 'POST /worker' && lost++ < 2 && cut(response),
    });
    const ran = await run(url, await freePort());
    await eventually(async () => expect(await workers()).toBe(3), { timeout: 30_000 });
    const ids = await enqueueAll();
    await allDone();
    expect(ran.toSorted()).toEqual(ids.toSorted());
    expect(await workers()).toBe(1);
  });

  describe('since its handler was stopped, and added again,', () => {
    const pulling = async (url: string) => {
      const ran: string[] = [];
      const handle: JobHandler = (_, { id }) => void ran.push(id);
      const source = jq({ master: url, onProblem: () => undefined });
      const { worker } = await runWorker(source, WORK, handle);
      const restart = async () => {
        await worker.remove('work', 0);
        await worker.add(bindHandler(WORK, {}, handle));
      };
      return { ran, restart };
    };
    const isDone = (id: string) =>
      until(async () => ((await master.job(id)).body as { status: string }).status === 'done');

    it('brings no job any more that its pull has got', async () => {
      const pulled = gate<() => void>();
      let deliver: (() => void) | undefined;
      const url = await proxyTo({
        before: (what) => {
          if (what !== 'DELETE /worker') return false;
          deliver?.();
          deliver = () => undefined;
          return false;
        },
        after: (what, status, response, bytes) => {
          if (!what.startsWith('POST /worker/pull') || status !== 200 || deliver) return false;
          pulled.open((deliver = () => response.writeHead(200).end(bytes)));
          return true;
        },
      });
      const { ran, restart } = await pulling(url);
      const id = await master.enqueue({ name: 'work', max_retry: 0 });
      await pulled.passed;
      await restart();
      await isDone(id);
      expect(ran).toEqual([id]);
    });

    it('does not register again when its pull ends', async () => {
      const waiting = gate<ServerResponse>();
      let [pulls, registered] = [0, 0];
      const url = await proxyTo({
        before: (what, response) => {
          if (what === 'POST /worker') registered += 1;
          if (!what.startsWith('POST /worker/pull') || pulls++ > 0) return false;
          waiting.open(response);
          return true;
        },
      });
      const { ran, restart } = await pulling(url);
      const poll = await waiting.passed;
      await restart();
      poll.writeHead(404).end(encode({ code: 'WORKER_NOT_FOUND', message: 'unknown' }));
      const id = await master.enqueue({ name: 'work' });
      await isDone(id);
      expect([ran, registered]).toEqual([[id], 2]);
      await stopWorkers();
      expect(await workers()).toBe(0);
    });
  });
});

describe('a worker', () => {
  stopWorkersAfterEach();
  stopScriptedMastersAfterEach();

  it('that is forgotten again and again registers more and more seldom', async () => {
    const master = await scriptedMaster();
    master.pings = { refused: 4, status: 404, code: 'WORKER_NOT_FOUND', came: 0 };
    const begun = performance.now();
    await runWorker(jq({ master: master.url, listen: { port: 0 } }), WORK, () => undefined);
    await until(() => master.registrations.length === 5);
    expect(performance.now() - begun).toBeGreaterThan(700);
  });

  it('whose pulls are answered at once, without a job, asks more and more seldom', async () => {
    const master = await scriptedMaster();
    const begun = performance.now();
    await runWorker(jq({ master: master.url }), WORK, () => undefined);
    await until(() => master.pulls >= 5);
    expect(performance.now() - begun).toBeGreaterThan(700);
  });
});
