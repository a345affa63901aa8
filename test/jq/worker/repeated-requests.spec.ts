import { beforeEach, describe, expect, it } from '@jest/globals';
import { defineJob } from '../../../lib/job/job-definition.js';
import { messagePack } from '../../../lib/jq/message-pack/codec.js';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import type { ListenOptions } from '../../../lib/jq/worker/source-options.js';
import { runWorker, stopWorkersAfterEach } from '../../support/run-worker.js';
import { until } from '../../support/until.js';
import { useMaster } from '../master/use-master.js';
import { useMasterProxies } from './master-proxy.js';

const JOBS = 8;

describe('a request that something between a worker and its master sends twice', () => {
  const master = useMaster();
  stopWorkersAfterEach();
  const proxyTo = useMasterProxies(master);
  beforeEach(() => master.redis.redis.flushall());

  const work = async (route: string, listen?: ListenOptions) => {
    const ran: string[] = [];
    const url = await proxyTo({ repeats: (what) => what.split('?')[0] === route });
    const source = jq({ master: url, ...(listen && { listen }), onProblem: () => undefined });
    const mail = defineJob('mail', { codec: messagePack });
    await runWorker(source, mail, (_, { id }) => void ran.push(id), { concurrency: 2 });
    return ran;
  };
  const enqueueAll = () =>
    Promise.all(Array.from({ length: JOBS }, () => master.enqueue({ max_retry: 0, timeout: 3600 })));
  const allDone = () =>
    until(async () => (await master.redis.redis.zcard('{jq}:status:done')) === JOBS, { timeout: 30_000 });

  it('brings the same job if it is a pull', async () => {
    const ids = await enqueueAll();
    const ran = await work('POST /worker/pull');
    await allDone();
    expect(ran.toSorted()).toEqual(ids.toSorted());
  });

  it.each([
    ['pushes', { port: 0 }],
    ['pulls', undefined],
  ])('makes one worker if it registers one, with %s', async (_, listen) => {
    const ran = await work('POST /worker', listen);
    const ids = await enqueueAll();
    await allDone();
    expect(ran.toSorted()).toEqual(ids.toSorted());
    await expect(master.redis.redis.zcard('{jq}:workers')).resolves.toBe(1);
  });
});
