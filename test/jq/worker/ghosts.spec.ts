import { beforeEach, describe, expect, it } from '@jest/globals';
import { defineJob } from '../../../lib/job/job-definition.js';
import { messagePack } from '../../../lib/jq/message-pack/codec.js';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import { freePort } from '../../support/free-port.js';
import type { JobHandler } from '../../../lib/worker/job-handler.js';
import { gate } from '../../support/gate.js';
import { runWorker, stopWorkersAfterEach } from '../../support/run-worker.js';
import { eventually, until } from '../../support/until.js';
import { useMaster } from '../master/use-master.js';
import { cut, useMasterProxies } from './master-proxy.js';

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
});
