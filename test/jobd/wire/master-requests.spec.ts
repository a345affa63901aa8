import { describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/until.js';
import type { OriginalWorker } from './original-actors.js';
import { useMaster } from './use-master.js';

const OK = '[1,{"no":1,"data":"ok"}]';
const request = (type: string, data?: unknown) => JSON.stringify([0, { no: 1, type, data }]);
const refusal = (error: string) => `[1,${JSON.stringify({ no: 1, error })}]`;
const reply = (data: unknown) => `[1,${JSON.stringify({ no: 1, data })}]`;

const BAD_TARGETS: readonly (readonly [targets: unknown, error: string])[] = [
  ['a', 'targets must be array'],
  [null, 'targets must be array'],
  [[], 'targets are empty'],
  [['a', 5], 'all targets must be strings, number given'],
  [[{}], 'all targets must be strings, object given'],
];

const REFUSED: readonly (readonly [type: string, data: unknown, error: string])[] = [
  ['register-worker', undefined, 'name is missing or invalid'],
  ['register-worker', { name: 5, targets: ['a'] }, 'name is missing or invalid'],
  ['register-worker', { name: '', targets: ['a'] }, 'name is missing or invalid'],
  ['register-worker', { name: 'w' }, 'targets must be array'],
  ['poke', undefined, 'targets must be array'],
  ...BAD_TARGETS.flatMap(([targets, error]): [string, unknown, string][] => [
    ['register-worker', { name: 'w', targets }, error],
    ['poke', { targets }, error],
    ['pause', { targets }, error],
    ['continue', { targets }, error],
  ]),
  ['run-manual', undefined, 'jobs must be array'],
  ['run-manual', { jobs: {} }, 'jobs must be array'],
  ['run-manual', { jobs: [5] }, 'data is not an object'],
  ['run-manual', { jobs: [null] }, 'data is not an object'],
  ['run-manual', { jobs: [{ id: 1 }] }, 'missing required field target'],
  ['run-manual', { jobs: Array.from({ length: 10_001 }, () => 1) }, 'more than 10000 jobs'],
  ['poke', { targets: Array.from({ length: 10_001 }, () => 'a') }, 'more than 10000 targets'],
  ['run-manual', { jobs: [{ target: 'a' }] }, 'missing required field id'],
  ['run-manual', { jobs: [{ id: '1', target: 'a' }] }, "'id' must be integer"],
  ['run-manual', { jobs: [{ id: 1, target: 5 }] }, "'target' must be string"],
  ['send-signal', {}, 'jobs must be array'],
  ['send-signal', { jobs: [{ id: 1, target: 'a' }] }, 'missing required field signal'],
  ['send-signal', { jobs: [{ id: 1, target: 'a', signal: 'SIGTERM' }] }, "'signal' must be integer"],
  ['poll', undefined, "unknown request type: 'poll'"],
];

describe('requests to a master', () => {
  const master = useMaster();

  it.each(REFUSED)('%s %j is refused: %s', async (type, data, error) => {
    const client = await master.client();
    await expect(client.ask(request(type, data))).resolves.toEqual([refusal(error)]);
    expect(master.master.workers).toBe(0);
  });

  it('status lists workers as they registered, with their own status where it is asked for', async () => {
    const status = { targets: { a: { paused: false, concurrency: 1, length: 0 } } };
    const good = await master.worker('one', ['a', 'b'], () => status);
    await master.worker('two', ['constructor'], () => {
      throw new Error('no such thing');
    });
    const client = await master.client();
    const [plain = ''] = await client.ask(request('status'));
    const address = (worker: OriginalWorker) =>
      `"remoteAddr":"127.0.0.1","remotePort":${worker.wire.socket.localPort}`;
    expect(plain).toContain(
      `[1,{"no":1,"data":{"workers":[{${address(good)},"targets":["a","b"],"name":"one"},{"remoteAddr"`,
    );
    expect(plain).toMatch(/"targets":\["constructor"\],"name":"two"\}\],"memoryUsage":\{"rss":\d+,.*\}\}\]$/);
    const [polled = ''] = await client.ask(request('status', { poll_workers: true }));
    expect(polled).toContain(`"name":"one","workerStatus":${JSON.stringify(status)}}`);
    expect(polled).toContain(
      '"name":"two","workerStatus":{"targets":{}},"workerStatusError":"no such thing"}',
    );
  });

  it('pause and continue reach the workers of the targets, or all, and then reply ok', async () => {
    const [one, two] = [await master.worker('one', ['a', 'b']), await master.worker('two', ['c'])];
    const client = await master.client();
    await expect(client.ask(request('pause', { targets: ['b', 'nobody'] }))).resolves.toEqual([OK]);
    await expect(client.ask(request('continue'))).resolves.toEqual([OK]);
    expect(one.heard).toEqual([
      { type: 'pause', data: { targets: ['b'] } },
      { type: 'continue', data: undefined },
    ]);
    expect(two.heard).toEqual([{ type: 'continue', data: undefined }]);
  });

  it('pause names the worker that failed', async () => {
    await master.worker('bad', ['a'], () => {
      throw new Error('broken');
    });
    const client = await master.client();
    await expect(client.ask(request('pause'))).resolves.toEqual([refusal("worker 'bad': broken")]);
  });

  it('pings are for registered workers only', async () => {
    const client = await master.client();
    await expect(client.answers()).resolves.toEqual([]);
    await expect(client.answers(request('poke', { targets: ['a'] }))).resolves.toEqual([OK]);
    expect(client.received).toEqual([]);
  });
});

describe('run-manual through a master', () => {
  const master = useMaster();
  const ran = (id: number) => ({ result: 'ok', code: 0, signal: null, stdout: `out ${id}\n`, stderr: '' });
  const runs = (_: string, data: unknown) => ({
    jobs: Object.fromEntries((data as { ids: number[] }).ids.map((id) => [id, ran(id)])),
  });

  it('answers an empty request with an empty reply', async () => {
    const client = await master.client();
    await expect(client.ask(request('run-manual', { jobs: [] }))).resolves.toEqual([reply({})]);
  });

  it('sends each worker its jobs in one request, and merges the replies', async () => {
    const one = await master.worker('one', ['a'], runs);
    const two = await master.worker('two', ['b'], (_, data) => ({
      jobs: { 3: ran(3) },
      errors: { 4: `job ${(data as { ids: number[] }).ids[1]} not found` },
    }));
    const client = await master.client();
    const jobs = [
      { id: 4, target: 'nobody' },
      { id: 1, target: 'a' },
      { id: 3, target: 'b' },
      { id: 2, target: 'a' },
      { id: 2, target: 'a' },
      { id: 4, target: 'b' },
      { id: 5, target: 'constructor' },
    ];
    await expect(client.ask(request('run-manual', { jobs }))).resolves.toEqual([
      reply({
        jobs: { 1: ran(1), 2: ran(2), 3: ran(3) },
        errors: { 4: 'job 3 not found', 5: "worker serving target 'constructor' not found" },
      }),
    ]);
    expect(one.heard).toEqual([{ type: 'run-manual', data: { ids: [1, 2] } }]);
    expect(two.heard).toHaveLength(1);
  });

  it('keeps the results of others when a worker fails, leaves, or answers nonsense', async () => {
    await master.worker('good', ['a'], runs);
    await master.worker('bad', ['b'], () => {
      throw new Error('all ids must be numbers, got string');
    });
    await master.worker('odd', ['d'], () => ({ jobs: 'nonsense', errors: null }));
    const leaving = await master.worker('leaving', ['c'], () => new Promise(() => undefined));
    const client = await master.client();
    const jobs = ['a', 'b', 'c', 'd'].map((target, index) => ({ id: index + 1, target }));
    client.send(request('run-manual', { jobs }));
    await eventually(() => expect(leaving.heard.length).toBeGreaterThan(0));
    leaving.close();
    await expect(client.take()).resolves.toEqual([
      reply({
        jobs: { 1: ran(1) },
        errors: {
          2: "worker 'bad': all ids must be numbers, got string",
          3: "worker 'leaving': connection closed by the peer",
          4: "worker 'odd' gave no result",
        },
      }),
    ]);
  });

  it('spreads jobs over the workers of a target', async () => {
    const workers = [await master.worker('one', ['a'], runs), await master.worker('two', ['a'], runs)];
    const client = await master.client();
    const jobs = Array.from({ length: 64 }, (_, id) => ({ id, target: 'a' }));
    await client.ask(request('run-manual', { jobs }));
    for (const { heard } of workers) expect(heard).toHaveLength(1);
  });
});

describe('send-signal through a master', () => {
  const master = useMaster();

  it('asks every worker that serves the target: one delivery is enough', async () => {
    const one = await master.worker('one', ['a'], () => ({ 1: false, 2: false }));
    await master.worker('two', ['a', 'b'], () => ({ 1: true, 2: false, 3: true }));
    await master.worker('bad', ['a', 'c'], () => {
      throw new Error('broken');
    });
    const client = await master.client();
    const jobs = [
      { id: 1, signal: 15, target: 'a' },
      { id: 2, signal: 9, target: 'a' },
      { id: 3, signal: 0, target: 'b' },
      { id: 4, signal: 9, target: 'c' },
      { id: 5, signal: 9, target: 'nobody' },
    ];
    await expect(client.ask(request('send-signal', { jobs }))).resolves.toEqual([
      reply({
        1: true,
        2: false,
        3: true,
        errors: { 4: "worker 'bad': broken", 5: "worker serving target 'nobody' not found" },
      }),
    ]);
    expect(one.heard).toEqual([{ type: 'send-signal', data: { jobs: { 1: 15, 2: 9 } } }]);
    await expect(client.ask(request('send-signal', { jobs: [] }))).resolves.toEqual([reply({})]);
  });
});
