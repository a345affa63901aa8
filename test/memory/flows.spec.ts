import { expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { GearMonkeyClient } from '../../lib/gearmonkey/client/client.js';
import { MemoryServer } from '../../lib/memory/memory-server.js';
import { MemorySource } from '../../lib/memory/memory-source.js';
import { MemoryStore } from '../../lib/memory/memory-store.js';
import { runWorker, stopWorkersAfterEach } from '../support/run-worker.js';

stopWorkersAfterEach();

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
