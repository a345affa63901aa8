import type { ServerResponse } from 'node:http';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { decode, encode } from '@msgpack/msgpack';
import { defineJob } from '../../../lib/job/job-definition.js';
import { realNow } from '../../../lib/job/real-time.js';
import type { JobSource } from '../../../lib/job/job-source.js';
import { messagePack } from '../../../lib/jq/message-pack/codec.js';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import type { Registrations } from '../../../lib/jq/worker/registrations.js';
import { freePort } from '../../support/free-port.js';
import { gate } from '../../support/gate.js';
import { runWorker, stopWorkersAfterEach } from '../../support/run-worker.js';
import { until } from '../../support/until.js';
import { Http } from '../master/http.js';
import { useMaster } from '../master/use-master.js';
import { cut, useMasterProxies } from './master-proxy.js';
import { push } from './worker-rig.js';
import { scriptedMaster, stopScriptedMastersAfterEach } from './scripted-master.js';

/** Parts that a test sets as a stall would: a real one takes seconds. */
interface Parts {
  readonly stalls: { looked: number };
  readonly registrations: Registrations;
}

describe('a job that is read late', () => {
  const master = useMaster();
  stopWorkersAfterEach();
  stopScriptedMastersAfterEach();
  const proxyTo = useMasterProxies(master);
  beforeEach(() => master.redis.redis.flushall());

  async function worker(url: string) {
    const port = await freePort();
    const ran: string[] = [];
    const source: JobSource = jq({ master: url, listen: { port }, onProblem: () => undefined });
    await runWorker(source, defineJob('mail', { codec: messagePack }), (_, { id }) => void ran.push(id));
    const { stalls, registrations } = source as JobSource & Parts;
    const registration = await until(() => registrations['all'][0]);
    await registration.ready();
    const http = new Http(`http://127.0.0.1:${port}`);
    return {
      ran,
      push: (id: string) => http.post('/worker-job', push({ id, job_id: id })),
      stall: () => (stalls.looked = realNow() - 2500),
      goUnheard: () => (registration.heardAt = realNow() - 21_000),
      isHeard: () => (registration.heardAt = realNow() - 19_000),
    };
  }

  const isDone = (id: string) =>
    until(async () => ((await master.job(id)).body as { status: string }).status === 'done');

  it.each(['stall', 'goUnheard'] as const)(
    'after a %s is begun only if the master says that it is still its worker’s',
    async (happens) => {
      const { ran, push: pushHere, [happens]: happen } = await worker(master.url);
      const other = await master.register({ name: 'other', max_jobs: 1, names: ['other'] });
      const taken = await master.enqueue({ name: 'other' });
      expect((await master.call('POST', '/worker/pull?timeout=5', { worker: other })).status).toBe(200);
      happen();
      await expect(pushHere(taken)).resolves.toMatchObject({ status: 202 });
      const id = await master.enqueue({ name: 'mail' });
      await isDone(id);
      expect(ran).toEqual([id]);
    },
  );

  it('because its handler has no slot goes to another worker, without a retry', async () => {
    const ran: string[] = [];
    const work = (name: string) =>
      runWorker(
        jq({ master: master.url }),
        defineJob('mail', { codec: messagePack }),
        () => void ran.push(name),
      );
    const { worker: paused } = await work('paused');
    await until(async () => (await master.redis.redis.exists('{jq}:pullers')) === 1);
    paused.setConcurrency('mail', 0);
    const id = await master.enqueue({ name: 'mail', max_retry: 0 });
    await until(async () => ((await master.job(id)).body as { status: string }).status === 'running');
    await work('other');
    await isDone(id);
    expect(ran).toEqual(['other']);
  });

  it('because the reply to its pull was lost is pulled again at once', async () => {
    let lost = 0;
    const url = await proxyTo({
      after: (what, status, response) =>
        what.startsWith('POST /worker/pull') && status === 200 && lost++ === 0 && cut(response),
    });
    const ran: string[] = [];
    const source = jq({ master: url, onProblem: () => undefined });
    await runWorker(source, defineJob('mail', { codec: messagePack }), (_, { id }) => void ran.push(id));
    const id = await master.enqueue({ name: 'mail', max_retry: 0, timeout: 3600 });
    await isDone(id);
    expect([lost, ran]).toEqual([2, [id]]);
  });

  it.each([
    ['lost', cut],
    ['lost behind a proxy', (response: ServerResponse) => response.writeHead(502).end()],
    [
      'refused for the moment',
      (response: ServerResponse) => response.writeHead(503).end(encode({ code: 'UNAVAILABLE' })),
    ],
    ['replaced by an empty refusal', (response: ServerResponse) => response.writeHead(403).end()],
    ['replaced by an empty 200', (response: ServerResponse) => response.writeHead(200).end()],
  ])(
    'because the reply to its pull was %s goes to another worker if the slot is taken by then',
    async (_, lose) => {
      let lost = 0;
      const paused = gate<() => unknown>();
      const url = await proxyTo({
        after: (what, status, response) => {
          if (!what.startsWith('POST /worker/pull') || status !== 200 || lost++ > 0) return false;
          paused.open(() => lose(response));
          return true;
        },
      });
      const ran: string[] = [];
      const work = (name: string, master_: string) =>
        runWorker(
          jq({ master: master_, onProblem: () => undefined }),
          defineJob('mail', { codec: messagePack }),
          () => void ran.push(name),
        );
      const { worker: first } = await work('paused', url);
      const id = await master.enqueue({ name: 'mail', max_retry: 0, timeout: 3600 });
      const breakLine = await paused.passed;
      first.setConcurrency('mail', 0);
      breakLine();
      await work('other', master.url);
      await isDone(id);
      expect(ran).toEqual(['other']);
    },
  );

  it.each([
    ['is asked for', {}, 1],
    ['is begun at once if its pull has waited so long', { waited_ms: 60_000 }, 0],
  ])('because its line was slow %s', async (_, reply, questions) => {
    let asked = 0;
    const url = await proxyTo({
      before: (what) => {
        if (what === 'POST /worker/confirm') asked++;
        return false;
      },
      after: (what, status, response, bytes) => {
        if (!what.startsWith('POST /worker/pull') || status !== 200) return false;
        const [answered, late] = [realNow(), encode({ ...(decode(bytes) as object), ...reply })];
        void until(() => realNow() > answered + 1000).then(() => response.writeHead(200).end(late));
        return true;
      },
    });
    const source = jq({ master: url, onProblem: () => undefined });
    await runWorker(source, defineJob('mail', { codec: messagePack }), () => undefined);
    await isDone(await master.enqueue({ name: 'mail' }));
    expect(asked).toBe(questions);
  });

  it('without an attempt, as of a master of another implementation, fails there for another try', async () => {
    const held = gate<() => void>();
    const url = await proxyTo({
      after: (what, status, response, bytes) => {
        if (!what.startsWith('POST /worker/pull') || status !== 200) return false;
        const { attempt: _, ...rest } = decode(bytes) as Record<string, unknown>;
        held.open(() => response.writeHead(200).end(encode(rest)));
        return true;
      },
    });
    const { worker: paused } = await runWorker(
      jq({ master: url, onProblem: () => undefined }),
      defineJob('mail', { codec: messagePack }),
      () => undefined,
    );
    const id = await master.enqueue({ name: 'mail', max_retry: 0, timeout: 3600 });
    const deliver = await held.passed;
    paused.setConcurrency('mail', 0);
    deliver();
    await until(async () => ((await master.job(id)).body as { status: string }).status === 'error');
    await expect(master.job(id)).resolves.toMatchObject({ body: { message: 'the worker gave it back' } });
  });

  it('is begun without a question if nothing speaks against it', async () => {
    const { ran, push: pushHere, isHeard } = await worker(master.url);
    isHeard();
    await pushHere('000000000009-00000000');
    await until(() => ran.length > 0);
    expect(ran).toEqual(['000000000009-00000000']);
  });

  it('is begun if its master does not know the question', async () => {
    const scripted = await scriptedMaster();
    const { ran, push: pushHere, stall } = await worker(scripted.url);
    scripted.confirms = 404;
    stall();
    await pushHere('j1');
    await until(() => ran.length > 0);
    for (const [id, status] of [
      ['j2', 409],
      ['j3', 403],
    ] as const) {
      scripted.confirms = status;
      scripted.confirmCode = 'REFUSED';
      stall();
      await pushHere(id);
      await until(() => scripted.confirmed.includes(id));
    }
    scripted.confirms = 204;
    scripted.confirmCode = undefined;
    await pushHere('j4');
    await until(() => ran.length > 1);
    expect(ran).toEqual(['j1', 'j4']);
    expect(scripted.confirmed).toEqual(['j1', 'j2', 'j3', 'j4']);
  });
});
