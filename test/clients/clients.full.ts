import { afterEach, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { GearMonkeyClient, GearMonkeyModule, JobFailedError, NoWorkersError } from 'nestjs-gearmonkey';
import { killProcesses, TestProcess } from '../support/test-process.js';
import { eventually, until } from '../support/until.js';
import { useApps } from '../support/use-apps.js';
import { useRedis } from '../support/use-redis.js';
import { LANGUAGES, start } from './programs.js';

/** A worker of this package in a process that a test can kill. */
const OURS = `
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GearMonkeyModule, GearMonkeyWorkers } from 'nestjs-gearmonkey';
class App {}
Module({ imports: [GearMonkeyModule.forRoot({ connection: process.env.REDIS_URL, lease: '2s' })] })(App);
const app = await NestFactory.createApplicationContext(App, { logger: false });
await app.get(GearMonkeyWorkers).add(process.env.FN, async (input, job) => {
  if (input === 'fail') throw new Error('attempt ' + job.attempts);
  if (input === 'kill' && job.attempts === 1) await new Promise(() => setInterval(() => undefined, 1000));
  for (let done = 1; input === 'slow'; done++) {
    await job.update(done, 1000);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return [input, job.attempts, job.headers.tenant ?? null];
}, { concurrency: 5 });
console.log('ready');
`;

it.each(['python/gearmonkey.py', 'php/gearmonkey.php'])('clients/%s has less than 300 lines', (file) => {
  const text = readFileSync(new URL(`../../clients/${file}`, import.meta.url), 'utf8');
  expect(text.trimEnd().split('\n').length).toBeLessThan(300);
});

describe.each(LANGUAGES)('In $name', (language) => {
  const redis = useRedis();
  const apps = useApps();
  afterEach(killProcesses);

  async function ourClient(): Promise<GearMonkeyClient> {
    const app = await apps.start({ imports: [GearMonkeyModule.forRoot({ connection: redis.url })] });
    return app.get(GearMonkeyClient);
  }

  async function worker(fn: string, client: GearMonkeyClient): Promise<TestProcess> {
    const started = start(language, language.worker, redis.url, fn);
    await started.shows(() => client.rollCall(fn).catch(() => 0), 'that it is counted');
    return started;
  }

  it('a worker runs jobs of our client: headers, retries, errors, time limits', async () => {
    const [fn, client] = [redis.fn(), await ourClient()];
    await worker(fn, client);
    await expect(client.call(fn, { name: 'Zoë' }, { headers: { tenant: 'acme' } })).resolves.toEqual([
      { name: 'Zoë' },
      1,
      { tenant: 'acme' },
    ]);
    await expect(client.call(fn, 'fail')).rejects.toThrow('attempt 2');
    const hopeless = await client.run(fn, 'hopeless', { retry: { attempts: 5 } });
    await expect(hopeless.result()).rejects.toThrow(JobFailedError);
    await expect(hopeless.get()).resolves.toMatchObject({ attempts: 1, error: { message: 'never' } });
    const often = await client.run(fn, 'fail', {
      retry: { attempts: 4, backoff: 'fixed', delay: '20ms', jitter: 0 },
    });
    await expect(often.result()).rejects.toThrow('attempt 4');
    await expect(often.get()).resolves.toMatchObject({ attempts: 4, errors: { length: 4 } });
    await expect(client.call(fn, 'slow', { jobTimeout: 100, retry: { attempts: 1 } })).rejects.toThrow(
      'timeout',
    );
  });

  it('a handler keeps its lease, tells its progress, and notices that its job was cancelled', async () => {
    const [fn, client] = [redis.fn(), await ourClient()];
    const process = await worker(fn, client);
    const job = await client.run(fn, 'slow');
    // Twice as long as its lease lasts.
    const longer = 2 / 0.04;
    await until(async () => ((await job.get()).progress?.dividend ?? 0) > longer);
    await expect(job.get()).resolves.toMatchObject({ state: 'running', attempts: 1 });
    await expect(job.cancel()).resolves.toBe(true);
    await process.shows(() => process.stdout.endsWith('\n'), 'that its job has to stop');
    expect(['cancelled\n', 'lost\n']).toContain(process.stdout);
    await expect(job.get()).resolves.toMatchObject({ state: 'cancelled' });
    await expect(client.call(fn, 'next')).resolves.toEqual(['next', 1, {}]);
    process.signal('SIGTERM');
    await process.ended();
    await expect(client.rollCall(fn)).rejects.toThrow(NoWorkersError);
  });

  it('a worker that is killed loses no job, and one that is told to end gives its job back', async () => {
    const [fn, client] = [redis.fn(), await ourClient()];
    const first = await worker(fn, client);
    const job = await client.run(fn, 'slow');
    await until(async () => (await job.get()).progress !== undefined);
    await first.kill('SIGKILL');
    const second = await worker(fn, client);
    await eventually(async () => expect((await job.get()).attempts).toBe(2));
    // A stalled attempt does not count.
    await until(async () => ((await job.get()).progress?.dividend ?? 0) > 0);
    second.signal('SIGTERM');
    const { code, stdout, stderr } = await second.ended();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    // Python writes the end of a line by itself.
    expect(['', 'shutdown']).toContain(stdout.trim());
    await expect(job.get()).resolves.toMatchObject({ state: 'waiting', attempts: 1 });
  });

  it('a client has our worker run its jobs, also if that is killed', async () => {
    const fn = redis.fn();
    const ours = () => {
      const env = { ...process.env, REDIS_URL: redis.url, FN: fn };
      const started = new TestProcess(process.execPath, ['--input-type=module', '-'], { env });
      started.input(OURS);
      return started;
    };
    const first = ours();
    await first.shows(() => first.stdout.includes('ready'), 'that it is ready');
    const client = start(language, language.client, redis.url, fn);
    await client.shows(() => client.stdout.includes('enqueued'), 'its last job');
    const [, id] = JSON.parse(client.stdout.trim().split('\n').at(-1) ?? '') as [string, string];
    await eventually(async () => expect(await redis.redis.hget(`job:${fn}:${id}`, 'status')).toBe('busy'));
    await first.kill('SIGKILL');
    ours();
    const { code, stdout } = await client.ended();
    if (code !== 0) throw client.error('failed');
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      [[{ name: 'Zoë' }, 1, 'acme']],
      ['attempt 3', 3],
      [[1, 1, null], [2, 1, null], true],
      ['running', true],
      ['cancelled', 'scheduled'],
      ['timeout'],
      ['enqueued', id],
      [['kill', 2, null]],
    ]);
  });
});
