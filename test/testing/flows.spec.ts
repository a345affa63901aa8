import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { GearMonkeyClient, Worker, defineJob, type Flow, type RunningJob } from 'nestjs-gearmonkey';
import { messagePack } from 'nestjs-gearmonkey/jq';
import { GearMonkeyTestClient } from 'nestjs-gearmonkey/testing';
import { SERVERS, useTesting } from './use-testing.js';

const split = defineJob<string, number>('split', { retry: { attempts: 1 } });
const encode = defineJob<number, string>('encode', { retry: { attempts: 1 } });
const join = defineJob<string, string>('join');
const publish = defineJob<string, string>('publish');
const render = defineJob<number>('render', { limit: { key: () => 'gpu', rate: { max: 1, per: '1m' } } });

@Injectable()
class Films {
  readonly ran: string[] = [];

  constructor(private readonly jobs: GearMonkeyClient) {}

  cut(film: string): Promise<Flow> {
    const publishing = { job: publish, input: film, options: { delay: '1h' } };
    const joined = { job: join, input: film, children: [publishing] };
    const parts = [1, 2].map((part) => ({ job: encode, input: part, children: [joined] }));
    return this.jobs.flow({ job: split, input: film, children: parts });
  }

  @Worker(split)
  split(film: string) {
    this.ran.push(`split ${film}`);
    return 2;
  }

  @Worker(encode)
  encode(part: number) {
    this.ran.push(`encode ${part}`);
    return `part ${part}`;
  }

  @Worker(join)
  async join(film: string, job: RunningJob) {
    this.ran.push(`join ${film}`);
    const parts = await job.parents(encode);
    return parts.map(({ output }) => output).join(', ');
  }

  @Worker(render, { concurrency: 5 })
  render() {}

  @Worker(publish)
  publish(film: string) {
    this.ran.push(`publish ${film}`);
    return film;
  }
}

describe.each(SERVERS)('Flows of a test, in %s', (server) => {
  const testing = useTesting(server);

  async function start() {
    const module = await testing.start({ providers: [Films] });
    const client = module.get(GearMonkeyTestClient);
    const films = module.get(Films);
    return { client, test: client.test, films, ran: films.ran };
  }

  it('have all their jobs among those that were enqueued', async () => {
    const { test, films } = await start();
    await films.cut('Metropolis');
    expect(test.enqueued().map(({ fn, input }) => [fn, input])).toEqual([
      ['split', 'Metropolis'],
      ['encode', 1],
      ['encode', 2],
      ['join', 'Metropolis'],
      ['publish', 'Metropolis'],
    ]);
    test.assert(join, { input: 'Metropolis' });
    test.refute(encode, { input: 3 });
  });

  it('run as a whole in one drain, each job behind those before it', async () => {
    const { test, films, ran } = await start();
    const flow = await films.cut('Metropolis');
    await expect(test.drain()).resolves.toEqual({ done: 4, failed: 0, retried: 0 });
    expect(ran).toEqual(['split Metropolis', 'encode 1', 'encode 2', 'join Metropolis']);
    await expect(flow.jobs[3]?.get()).resolves.toMatchObject({ output: 'part 1, part 2' });
  });

  it('have delays that count from when a job may run', async () => {
    const { test, films, ran } = await start();
    await films.cut('Metropolis');
    await test.advance('50m');
    expect(ran).not.toContain('publish Metropolis');
    await expect(test.advance('10m')).resolves.toEqual({ done: 1, failed: 0, retried: 0 });
    expect(ran).toContain('publish Metropolis');
  });

  it('end jobs whose parents have failed, and count them', async () => {
    const { test, films, ran } = await start();
    const flow = await films.cut('Metropolis');
    test.failNext(encode, new Error('no codec'));
    await expect(test.drain()).resolves.toEqual({ done: 2, failed: 3, retried: 0 });
    expect(ran).toEqual(['split Metropolis', 'encode 2']);
    const joined = await test.until(join, { input: 'Metropolis' }, 'failed');
    expect(joined).toMatchObject({ state: 'failed', error: { code: 'PARENT_FAILED' } });
    await expect(test.until(publish, {}, 'failed')).resolves.toMatchObject({ state: 'failed' });
    await expect(test.drain({ scheduled: true })).resolves.toEqual({ done: 0, failed: 0, retried: 0 });
    await expect(flow.cancel()).resolves.toBe(0);
  });

  it('are cancelled as a whole', async () => {
    const { test, films, ran } = await start();
    const flow = await films.cut('Metropolis');
    await expect(flow.cancel()).resolves.toBe(5);
    await expect(test.until(publish, {}, 'failed')).resolves.toMatchObject({ state: 'cancelled' });
    await expect(test.drain()).resolves.toEqual({ done: 0, failed: 0, retried: 0 });
    expect(ran).toEqual([]);
  });

  it('end what waits for a job that is cancelled, or that has failed before', async () => {
    const { test, client } = await start();
    const first = await client.run(split, 'Metropolis');
    await client.run(join, 'Metropolis', { after: [first] });
    await first.cancel();
    await expect(test.until(join, {}, 'failed')).resolves.toMatchObject({ error: { code: 'PARENT_FAILED' } });
    await client.run(publish, 'Metropolis', { after: [first] });
    await expect(test.until(publish, {}, 'failed')).resolves.toMatchObject({ state: 'failed' });
  });

  it('hold the limit of a function', async () => {
    const { test, client } = await start();
    const children = [1, 2, 3].map((part) => ({ job: render, input: part }));
    const flow = await client.flow({ job: split, input: 'Metropolis', children });
    await expect(test.drain()).resolves.toEqual({ done: 2, failed: 0, retried: 0 });
    const states = async () =>
      (await Promise.all(flow.jobs.map((job) => job.get()))).map(({ state }) => state);
    await expect(states()).resolves.toEqual(['succeeded', 'succeeded', 'waiting', 'waiting']);
    await test.advance('3m');
    await expect(states()).resolves.toEqual(['succeeded', 'succeeded', 'succeeded', 'succeeded']);
  });

  it('expire by its clock', async () => {
    const { test, client } = await start();
    const child = { job: encode, input: 1, options: { expires: '1m' } };
    await client.pause(encode);
    const flow = await client.flow({ job: split, input: 'Metropolis', children: [child] });
    await test.advance('2m');
    await client.resume(encode);
    await expect(test.drain()).resolves.toEqual({ done: 0, failed: 1, retried: 0 });
    await expect(flow.jobOf(child)?.get()).resolves.toMatchObject({ error: { code: 'JOB_EXPIRED' } });
    await test.until(encode, {}, 'failed');
  });

  it('show what jobs wait for, and when they run then', async () => {
    const { test, client } = await start();
    const first = await client.run(split, 'Metropolis');
    const second = await client.run(join, 'Metropolis', { after: [first], delay: '1h' });
    test.assert(join, { after: [first], in: '1h' });
    test.assert(join, { after: [{ fn: 'split', id: Number(first.id) }] });
    test.refute(join, { in: 0 });
    test.refute(join, { after: [{ fn: 'split', id: '9' }] });
    test.refute(split, { after: [second] });
    expect(test.enqueued(join)[0]?.after).toEqual([{ fn: 'split', id: first.id }]);
    expect(test.enqueued(split)[0]?.after).toBeUndefined();
    expect(() => test.assert(join, { after: [second] })).toThrow('it waits for split 1 instead of join 1');
    expect(() => test.assert(split, { after: [second] })).toThrow('it waits for no job instead of join 1');
    expect(() => test.assert(join, { after: 'split' as never })).toThrow(/after/);
  });

  it('decode inputs by the definitions that a flow is made of', async () => {
    const { test, client } = await start();
    const packed = defineJob<{ a: number }>('packed', { codec: messagePack });
    await client.flow({ job: split, input: 'Metropolis', children: [{ job: packed, input: { a: 1 } }] });
    expect(test.enqueued('packed')).toMatchObject([{ input: { a: 1 } }]);
  });

  it('run a job of their own with `perform`, whose parents are none', async () => {
    const { test, films, ran } = await start();
    await films.cut('Metropolis');
    await expect(test.perform(join, 'Nosferatu')).resolves.toMatchObject({ state: 'succeeded', output: '' });
    expect(ran).toEqual(['join Nosferatu']);
  });
});
