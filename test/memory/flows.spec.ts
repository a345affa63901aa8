import { expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { MemoryServer } from '../../lib/memory/memory-server.js';
import { MemorySource } from '../../lib/memory/memory-source.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { MemoryJobs } from '../../lib/memory/memory-jobs.js';
import { MemoryLists } from '../../lib/memory/memory-lists.js';
import { claimOne, released } from '../contract/claiming.js';
import { gate } from '../support/gate.js';
import { eventually, until } from '../support/until.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';

stopWorkersAfterEach();

it('memory: keeps a parent for those that still wait for it, however often another child is retried', async () => {
  const server = new MemoryServer();
  const client = new GearMonkeyClient(new MemoryStore(server));
  const source = new MemorySource(server, { keep: { success: { count: 1 } } as never });
  const go = gate();
  await runWorker(
    source,
    'fn',
    async (input, job) => {
      if (input === 'fails') throw new Error('as told');
      if (input === 'waits') await go.passed;
      return (await job.parents()).map(({ output }) => output);
    },
    { concurrency: 2 },
  );
  const [fails, waits] = [
    { job: 'fn', input: 'fails', options: { retry: { attempts: 1 } } },
    { job: 'fn', input: 'waits' },
  ];
  const flow = await client.flow({ job: 'fn', input: 'root', children: [fails, waits] });
  for (let times = 0; times < 3; times++) {
    await eventually(async () => expect((await flow.jobOf(fails)?.get())?.state).toBe('failed'));
    await client.retry('fn', flow.jobOf(fails)?.id ?? '').done;
  }
  for (let others = 0; others < 3; others++) await client.run('fn', 'other', { blocking: true });
  go.open();
  await expect(flow.jobOf(waits)?.result()).resolves.toEqual([[]]);
});

it('memory: looks at jobs that are kept for others a few times, however many there are', () => {
  const JOBS = 5000;
  let looks = 0;
  const isHeld = () => (looks += 1) > 0;
  const jobs = new MemoryJobs();
  const lists = new MemoryLists(jobs, { success: { count: 10 } }, isHeld);
  for (let id = 1; id <= JOBS; id++) lists.end(String(id), 'succeeded', id);
  expect(lists.in('succeeded').size).toBe(JOBS);
  expect(looks).toBeLessThan(100 * JOBS);
});

it('memory: forgets a flow with its jobs, and keeps outputs until all have ended that wait for them', async () => {
  const server = new MemoryServer();
  const client = new GearMonkeyClient(new MemoryStore(server));
  const source = new MemorySource(server, { keep: { success: { count: 1 } } as never });
  await runWorker(source, 'fn', async (_, job) => (await job.parents()).length);
  const last = { job: 'fn', input: 'last' };
  const children = Array.from({ length: 5 }, () => ({ job: 'fn', input: 'child', children: [last] }));
  const flow = await client.flow({ job: 'fn', input: 'root', children });
  await expect(flow.jobOf(last)?.result()).resolves.toBe(5);
  await expect(lastValueFrom(flow.progress$)).resolves.toEqual({ done: 7, failed: 0, total: 7 });
  await client.run('fn', 'other', { blocking: true });
  const { flows } = server;
  expect([flow.jobs.filter((job) => flows.member(job)).length, flows.progress('any')]).toEqual([
    0,
    undefined,
  ]);
  expect(Reflect.get(flows, 'flows')).toEqual(new Map());
});

it('memory: runs a job when all have ended that it waits for', async () => {
  const server = new MemoryServer();
  const client = new GearMonkeyClient(new MemoryStore(server));
  const last = { job: 'last', input: 'last' };
  const children = [1, 2].map((input) => ({ job: 'fn', input, children: [last] }));
  await client.flow({ job: 'root', input: 'root', children });
  const claim = (fn: string) => server.function(fn).claim(9, 1000, Date.now());
  const finish = (fn: string, id: string) =>
    server.function(fn).finish(id, 1, 'success', '', undefined, Date.now());
  for (const { id } of claim('root')) finish('root', id);
  const [first, second] = claim('fn');
  finish('fn', first?.id ?? '');
  expect(claim('last')).toEqual([]);
  finish('fn', second?.id ?? '');
  expect(claim('last')).toHaveLength(1);
});

it('memory: a worker that waits ends what expires in another function without a worker', async () => {
  const server = new MemoryServer();
  const client = new GearMonkeyClient(new MemoryStore(server));
  const ran: unknown[] = [];
  await runWorker(new MemorySource(server), 'behind', (input) => void ran.push(input));
  await client.run('behind', 'first', { blocking: true });
  const isAsleep = () => server.function('behind').sleepers.size > 0;
  await until(isAsleep);
  const late = await client.run('unserved', 'late', { expires: 50 });
  const later = await client.run('unserved', 'later', { expires: 20_000 });
  await client.run('behind', 'later', { after: [later], onParentError: 'run' });
  await client.run('behind', 'behind', { after: [late], onParentError: 'run' });
  await until(() => ran.includes('behind'));
  expect(ran).toEqual(['first', 'behind']);
});

it('memory: looks again at a job that runs when it expires, as its worker may give it back', async () => {
  const server = new MemoryServer();
  const client = new GearMonkeyClient(new MemoryStore(server));
  const source = new MemorySource(server);
  const expires = new Date(Date.now() + 60_000);
  const late = await client.run('unserved', 'late', { expires });
  await client.run('behind', 'behind', { after: [late], onParentError: 'run' });
  const claim = await claimOne(source, 'unserved');
  server.flowExpiries.end(expires.getTime());
  expect((await late.get()).state).toBe('running');
  await source.settle([released(claim)]);
  server.flowExpiries.end(expires.getTime() + 1000);
  await expect(late.get()).resolves.toMatchObject({ state: 'failed', error: { code: 'JOB_EXPIRED' } });
});
