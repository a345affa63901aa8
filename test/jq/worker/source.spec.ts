import { beforeEach, describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import { RetryLaterError, UnrecoverableError } from '../../../lib/job/retry.js';
import { defineJob } from '../../../lib/job/job-definition.js';
import { messagePack, rawMessagePack } from '../../../lib/jq/message-pack/codec.js';
import { listenMaster } from '../../../lib/jq/master/listen-master.js';
import { jq } from '../../../lib/jq/worker/jq-source.js';
import { freePort } from '../../support/free-port.js';
import { gate } from '../../support/gate.js';
import { runWorker, stopWorkers, stopWorkersAfterEach } from '../../support/run-worker.js';
import { bindHandler, type JobHandler } from '../../../lib/worker/job-handler.js';
import { JobWorker } from '../../../lib/worker/job-worker.js';
import { eventually, until } from '../../support/until.js';
import { Http } from '../master/http.js';
import { useMaster } from '../master/use-master.js';
import { listeningWorker } from './worker-rig.js';

describe.each([
  ['pushed', { port: 0 }],
  ['pulled', undefined],
] as const)('the jobs of a master, %s,', (_, listen) => {
  const master = useMaster({ backoff: 10 });
  stopWorkersAfterEach();
  beforeEach(() => master.redis.redis.flushall());

  const source = (url = master.url) =>
    jq({ master: url, ...(listen ? { listen } : {}), onProblem: () => undefined });
  const run = (name: string, handle: JobHandler, url?: string) =>
    runWorker(source(url), defineJob(name, { codec: messagePack }), handle);
  const ended = async (id: string, http: Http = master) => {
    const { status, body } = await http.call('GET', `/job/${id}/polling?timeout=60`);
    expect(status).toBe(200);
    return body as Record<string, unknown>;
  };

  it('go byte for byte where the codec says so', async () => {
    const job = defineJob<Uint8Array, Uint8Array>('bytes', { codec: rawMessagePack });
    const seen: unknown[] = [];
    // 1.0 as a float, 2^63, a timestamp, keys that are integers, a number in eight bytes
    const argument =
      '85a166cb3ff0000000000000a169cf8000000000000000a174d6ff00000001a16d8101a161a16cd30000000000000001';
    const result = 'cb3ff0000000000000';
    await runWorker(source(), job, (input) => {
      seen.push(Buffer.from(input as Uint8Array).toString('hex'));
      return Buffer.from(result, 'hex');
    });
    const body = Buffer.concat([
      Buffer.from('83a46e616d65a56279746573ab6b6565705f726573756c74c3a8617267756d656e74', 'hex'),
      Buffer.from(argument, 'hex'),
    ]);
    const { job_id } = (await master.call('POST', '/job', { body })).body as { job_id: string };
    const { bytes } = await master.call('GET', `/job/${job_id}/polling?timeout=60`);
    expect(seen).toEqual([argument]);
    expect(bytes.toString('hex')).toContain(`a6726573756c74${result}`);
  });

  it('are run where function and worker have long names, which together are longer than the master takes', async () => {
    const fn = 'f'.repeat(200);
    const options = { master: master.url, name: 'é'.repeat(100), onProblem: () => undefined };
    const long = jq({ ...options, ...(listen ? { listen } : {}) });
    await runWorker(long, defineJob(fn, { codec: messagePack }), () => 'ran');
    const id = await master.enqueue({ name: fn, keep_result: true });
    await expect(ended(id)).resolves.toMatchObject({ status: 'done', result: 'ran' });
  });

  it('are tried again as often as their pusher says, whatever the error', async () => {
    let runs = 0;
    await run('fails', () => Promise.reject(new RangeError(`run ${++runs}`)));
    const id = await master.enqueue({ name: 'fails', max_retry: 2 });
    await expect(ended(id)).resolves.toMatchObject({
      status: 'error',
      message: 'run 3',
      retry_count: 2,
      error: { name: 'RangeError', message: 'run 3' },
    });
  });

  it('know which attempt is the last, as the master counts', async () => {
    const last: boolean[] = [];
    await run('fails', (_input, job) => {
      last.push(job.isLastAttempt);
      throw new Error('no');
    });
    for (const retries of [2, 0]) await ended(await master.enqueue({ name: 'fails', max_retry: retries }));
    expect(last).toEqual([false, false, true, true]);
  });

  it('are not tried again after an UnrecoverableError; RetryLaterError leaves the time to the master', async () => {
    let runs = 0;
    await run('fails', () => {
      runs += 1;
      throw runs === 1 ? new RetryLaterError('1h') : new UnrecoverableError('no');
    });
    const id = await master.enqueue({ name: 'fails', max_retry: 5 });
    await expect(ended(id)).resolves.toMatchObject({ status: 'error', message: 'no', retry_count: 1 });
  });

  it('that take too long are aborted and fail for their timeout', async () => {
    const reason = gate<unknown>();
    await run('long', (_input, job) => {
      job.signal.addEventListener('abort', () => reason.open(job.signal.reason));
      return new Promise(() => undefined);
    });
    const id = await master.enqueue({ name: 'long', timeout: 1, max_retry: 0 });
    await expect(reason.passed).resolves.toMatchObject({ code: 'JOB_TIMEOUT', timeout: 1000 });
    await expect(ended(id)).resolves.toMatchObject({ status: 'error', error: { code: 'JOB_TIMEOUT' } });
  });

  it('fail where the output is more than the master takes, with its reason', async () => {
    const small = await master.another({ maxBodyBytes: 1000, prefix: '{small}:' });
    await run('large', () => 'x'.repeat(2000), small.url);
    const id = await small.enqueue({ name: 'large' });
    await expect(ended(id, small)).resolves.toMatchObject({
      status: 'error',
      message: expect.stringContaining('413'),
      retry_count: 0,
    });
  });

  it('of one function are not kept waiting by those of another', async () => {
    const end = gate();
    await run('slow', () => end.passed);
    await run('quick', () => 'quick');
    for (let i = 0; i < 20; i++) await master.enqueue({ name: 'slow', priority: -1 });
    const id = await master.enqueue({ name: 'quick' });
    await expect(ended(id)).resolves.toMatchObject({ status: 'done' });
    end.open();
  });

  it('of several functions share `maxJobs`', async () => {
    let [running, most] = [0, 0];
    const handle = async () => {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running -= 1;
      return 'done';
    };
    const shared = jq({ master: master.url, maxJobs: 1, ...(listen ? { listen } : {}) });
    const bindings = ['one', 'two'].map((name) =>
      bindHandler(defineJob(name, { codec: messagePack }), { concurrency: 2 }, handle),
    );
    const log = { warn: () => undefined, error: () => undefined };
    const worker = new JobWorker(shared, bindings, { codec: messagePack, maxPayloadBytes: 1000, log });
    await worker.start();
    const ids = [];
    for (let i = 0; i < 6; i++) ids.push(await master.enqueue({ name: i % 2 ? 'one' : 'two' }));
    try {
      for (const id of ids) await expect(ended(id)).resolves.toMatchObject({ status: 'done' });
    } finally {
      await worker.stop(0);
    }
    expect(most).toBe(1);
  });

  it('that run when the worker leaves go back at once, without a retry spent', async () => {
    const running = gate();
    await run('mail', () => {
      running.open();
      return new Promise(() => undefined);
    });
    const id = await master.enqueue({ max_retry: 0, timeout: 3600, keep_result: true });
    await running.passed;
    await stopWorkers();
    await run('mail', () => 'second');
    await expect(ended(id)).resolves.toMatchObject({ status: 'done' });
  });

  it('are reported when the master is back, and new ones follow', async () => {
    const port = await freePort();
    const prefix = '{outage}:';
    const start = () => listenMaster({ connection: master.redis.url, port, prefix, backoff: 10 });
    let outage = await start();
    const http = new Http(outage.url);
    const [running, end] = [gate(), gate<string>()];
    const handle = () => {
      running.open();
      return end.passed;
    };
    await run('mail', handle, http.url);
    const id = await http.enqueue({ keep_result: true });
    await running.passed;
    await outage.close();
    end.open('kept');
    outage = await start();
    // Connections of before are broken: the first request may find that out.
    await until(() => http.job(id).catch(() => undefined));
    try {
      await expect(ended(id, http)).resolves.toMatchObject({
        status: 'done',
        result: 'kept',
        retry_count: 0,
      });
      const next = await http.enqueue({ keep_result: true });
      await expect(ended(next, http)).resolves.toMatchObject({ status: 'done', result: 'kept' });
    } finally {
      await stopWorkers();
      await outage.close();
    }
  });
});

describe('a worker', () => {
  const master = useMaster({ backoff: 10 });
  stopWorkersAfterEach();
  beforeEach(() => master.redis.redis.flushall());

  it('leaves the list of workers when it closes', async () => {
    const { worker } = await listeningWorker(master.url, 'mail', () => undefined);
    await eventually(async () => expect(await master.redis.redis.zcard('{jq}:workers')).toBe(1));
    await worker.stop(0);
    await expect(master.redis.redis.zcard('{jq}:workers')).resolves.toBe(0);
  });

  it('registers again when the master has forgotten it, and aborts what it ran', async () => {
    const lost = gate<unknown>();
    const end = gate<string>();
    const options = { pingInterval: 20, handler: { concurrency: 2 } };
    await listeningWorker(
      master.url,
      'mail',
      (_, job) => {
        job.signal.addEventListener('abort', () => lost.open(job.signal.reason));
        return end.passed;
      },
      options,
    );
    const id = await master.enqueue();
    await eventually(async () =>
      expect(((await master.job(id)).body as { status: string }).status).toBe('running'),
    );
    await master.redis.redis.flushall();
    await expect(lost.passed).resolves.toMatchObject({ code: 'LEASE_LOST', id });
    end.open('again');
    const next = await master.enqueue({ keep_result: true });
    const { body } = await master.call('GET', `/job/${next}/polling?timeout=60`);
    expect(body).toMatchObject({ status: 'done', result: 'again' });
  });

  it('waits for a master that is not there yet, and says so', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const { problems } = await listeningWorker(url, 'mail', () => 'ran');
    await eventually(() => expect(problems.length).toBeGreaterThan(0));
    expect(problems[0]).toContain(`No jobs of "mail" until ${url} takes the worker`);
    const late = await listenMaster({ connection: master.redis.url, port });
    try {
      const http = new Http(url);
      const id = await http.enqueue();
      await expect(http.call('GET', `/job/${id}/polling?timeout=60`)).resolves.toMatchObject({ status: 200 });
    } finally {
      await stopWorkers();
      await late.close();
    }
  });

  it('with the wrong token says so and registers nothing; with the right one it runs', async () => {
    const guarded = await master.another({ prefix: '{guarded}:', tokens: { worker: ['w'], pusher: ['p'] } });
    const wrong = await listeningWorker(guarded.url, 'mail', () => 'wrong', { token: 'p' });
    await eventually(() => expect(wrong.problems.length).toBeGreaterThan(0));
    expect(wrong.problems[0]).toMatch(/403.*Check `token`/);
    await listeningWorker(guarded.url, 'mail', () => 'right', { token: 'w' });
    const headers = { authorization: 'Bearer p', 'content-type': 'application/msgpack' };
    const body = encode({ name: 'mail', argument: {}, keep_result: true });
    const { job_id } = (await guarded.call('POST', '/job', { body, headers })).body as { job_id: string };
    const reply = await guarded.call('GET', `/job/${job_id}/polling?timeout=60`, { headers });
    expect(reply.body).toMatchObject({ result: 'right' });
  });
});
