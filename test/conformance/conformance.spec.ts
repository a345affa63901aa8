import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { RedisActors } from '../gearmonkey/redis-rig.js';
import { gate } from '../support/gate.js';
import { runWorker, stopWorkers } from '../support/run-worker.js';
import { until } from '../support/until.js';
import { useRedis } from '../support/use-redis.js';
import { PythonActor, stopActors } from './python-actor.js';
import { bytes, ChannelLog, expectFinished, JOB_TTL, protocolFields, ranOnce, text, upper } from './wire.js';
import { onThisMachine } from '../support/machine.js';

const BINARY = Buffer.from([0, 97, 255, 10, 195, 40, 34, 122]);

const server = useRedis();
let actors: RedisActors;

beforeAll(() => {
  actors = new RedisActors(server.url);
});
afterEach(async () => {
  await stopWorkers();
  await stopActors();
});
afterAll(() => actors.close());

describe('A client in Python, with our worker', () => {
  const python = (fn: string, args: (string | number)[], input?: Uint8Array) =>
    new PythonActor('client', [server.url, fn, ...args], input);

  it('finds the fields of the protocol at every step', async () => {
    const fn = server.fn();
    const log = await ChannelLog.open(server.redis, fn);
    const [started, end] = [gate(), gate()];
    await runWorker(actors.source(), text(fn), async (input, job) => {
      await job.update(3, 10);
      started.open();
      await end.passed;
      return upper(input);
    });
    await expect(python(fn, ['hello']).line()).resolves.toEqual({ id: 1 });
    await started.passed;
    expect(protocolFields(await server.redis.hgetall(`job:${fn}:1`))).toEqual({
      status: 'busy',
      input: 'hello',
      'status:dividend': '3',
      'status:divisor': '10',
    });
    await expect(server.redis.ttl(`job:${fn}:1`)).resolves.toBe(-1);
    await expect(server.redis.exists(`lock:${fn}:1`)).resolves.toBe(0);
    end.open();
    await until(() => server.redis.exists(`lock:${fn}:1`));
    await expectFinished(server.redis, fn, 1, {
      status: 'success',
      input: 'hello',
      output: 'HELLO',
      'status:dividend': '3',
      'status:divisor': '10',
    });
    await expect(log.close()).resolves.toEqual(ranOnce(1));
    expect(log.progress).toEqual([expect.stringMatching(/^1:\d+:3\/10$/)]);
  });

  it('waits on the lock list', async () => {
    const fn = server.fn();
    await runWorker(actors.source(), text(fn), upper);
    const actor = python(fn, ['hello', '--blocking', '--prio', 'high']);
    await actor.line();
    await expect(actor.line()).resolves.toMatchObject({
      id: 1,
      lock: [`lock:${fn}:1`, 'OK'],
      job: { status: 'success', input: 'hello', output: 'HELLO' },
    });
  });

  it('reads the plain message of an error', async () => {
    const fn = server.fn();
    const log = await ChannelLog.open(server.redis, fn);
    await runWorker(actors.source(), text(fn), () => Promise.reject(new RangeError('too far')));
    const actor = python(fn, ['hello', '--blocking']);
    await actor.line();
    const { job } = await actor.line();
    expect(protocolFields(job ?? {})).toEqual({ status: 'error', input: 'hello', output: 'too far' });
    await expect(server.redis.ttl(`job:${fn}:1`)).resolves.toBeGreaterThan(JOB_TTL - 30);
    await expect(log.close()).resolves.toEqual(ranOnce(1));
  });

  it('schedules a job', async () => {
    const fn = server.fn();
    const log = await ChannelLog.open(server.redis, fn);
    const due = Math.ceil(Date.now() / 1000) + 1;
    let startedAt = 0;
    await runWorker(actors.source(), text(fn), (input) => {
      startedAt = Date.now();
      return upper(input);
    });
    const actor = python(fn, ['later', '--scheduled', due, '--blocking']);
    await actor.line();
    await expect(actor.line()).resolves.toMatchObject({ job: { status: 'success', output: 'LATER' } });
    expect(startedAt).toBeGreaterThanOrEqual(due * 1000);
    expect(startedAt).toBeLessThan(due * 1000 + onThisMachine(1500));
    await expect(server.redis.exists(`queue:${fn}:scheduled`)).resolves.toBe(0);
    await expect(log.close()).resolves.toEqual(ranOnce(1));
  });

  it('finds a worker in a roll call only while it runs', async () => {
    const fn = server.fn();
    await expect(python(fn, ['x', '--rollcall']).exit).resolves.toMatchObject({ code: 3 });
    const { worker } = await runWorker(actors.source(), text(fn), upper);
    await expect(server.redis.get(`count:${fn}`)).resolves.toBe('1');
    await expect(python(fn, ['x', '--rollcall']).exit).resolves.toMatchObject({ code: 0 });
    await worker.stop(5000);
    await expect(server.redis.get(`count:${fn}`)).resolves.toBe('0');
    await expect(python(fn, ['x', '--rollcall']).exit).resolves.toMatchObject({ code: 3 });
  });

  it('sends bytes and gets bytes', async () => {
    const fn = server.fn();
    await runWorker(actors.source(), bytes(fn), (input) => Buffer.from(input as Uint8Array).reverse());
    const actor = python(fn, ['-', '--blocking'], BINARY);
    await actor.line();
    await actor.line();
    await expect(server.redis.hgetBuffer(`job:${fn}:1`, 'input')).resolves.toEqual(BINARY);
    await expect(server.redis.hgetBuffer(`job:${fn}:1`, 'output')).resolves.toEqual(
      Buffer.from(BINARY).reverse(),
    );
  });

  it('gets the reason if it sends bytes that the worker cannot read', async () => {
    const fn = server.fn();
    await runWorker(actors.source(), fn, (input) => input);
    const actor = python(fn, ['-', '--blocking'], BINARY);
    await actor.line();
    const { job } = await actor.line();
    expect(job).toMatchObject({ status: 'error', output: expect.stringContaining('it is not UTF-8') });
  });
});
