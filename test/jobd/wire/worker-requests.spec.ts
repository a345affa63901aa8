import { describe, expect, it } from '@jest/globals';
import { until } from '../../support/until.js';
import { useWorker } from './use-worker.js';

const OK = '[1,{"no":1,"data":"ok"}]';
const request = (type: string, data?: unknown) => JSON.stringify([0, { no: 1, type, data }]);
const refusal = (error: string) => `[1,${JSON.stringify({ no: 1, error })}]`;

/** Wrong arguments first: request, data, error. */
const REFUSED: readonly (readonly [type: string, data: unknown, error: string])[] = [
  ...['poll', 'pause', 'continue'].flatMap((type): [string, unknown, string][] => [
    [type, { targets: 'low' }, 'targets must be array'],
    [type, { targets: null }, 'targets must be array'],
    [type, { targets: [] }, 'targets are empty'],
    [type, { targets: ['low', 1] }, 'all targets must be strings, number given'],
    [type, { targets: [null] }, 'all targets must be strings, object given'],
    [type, { targets: ['low', 'zzz'] }, "invalid target 'zzz'"],
    [type, { targets: ['constructor'] }, "invalid target 'constructor'"],
    [type, { targets: ['x'.repeat(256)] }, "a target's name may have 255 characters"],
  ]),
  ['add-target', undefined, 'missing required field target'],
  ['add-target', { target: 'n1' }, 'missing required field concurrency'],
  ['add-target', { target: 5, concurrency: 1 }, "'target' must be string"],
  ['add-target', { target: 'n1', concurrency: '1' }, "'concurrency' must be integer"],
  ['add-target', { target: 'n1', concurrency: 1.5 }, "'concurrency' must be integer"],
  ['add-target', { target: 'n1', concurrency: 0 }, 'Invalid concurrency value.'],
  ['add-target', { target: 'n1', concurrency: -1 }, 'Invalid concurrency value.'],
  ['add-target', { target: 'low', concurrency: 1 }, "target 'low' already added"],
  ['add-target', { target: '', concurrency: 1 }, "'target' must have 1 to 255 characters"],
  ['remove-target', {}, 'missing required field target'],
  ['remove-target', { target: null }, "'target' must be string"],
  ['remove-target', { target: 'zz' }, "target 'zz' not found"],
  ['remove-target', { target: 'constructor' }, "target 'constructor' not found"],
  ['set-target-concurrency', { target: 'zz' }, 'missing required field concurrency'],
  ['set-target-concurrency', { target: 'low', concurrency: 0 }, 'Invalid concurrency value.'],
  ['set-target-concurrency', { target: 'zz', concurrency: 1 }, "target 'zz' not found"],
  ['run-manual', undefined, 'ids must be array'],
  ['run-manual', { ids: 5 }, 'ids must be array'],
  ['run-manual', { ids: [] }, 'ids are empty'],
  ['run-manual', { ids: [1, '2'] }, 'all ids must be numbers, got string'],
  ['run-manual', { ids: [null] }, 'all ids must be numbers, got object'],
  ['run-manual', { ids: [1.5] }, 'all ids must be integers, got 1.5'],
  ['send-signal', { jobs: 5 }, "'jobs' must be object"],
  ['X', {}, "unknown request type: 'X'"],
  ['', {}, "unknown request type: ''"],
  ['constructor', {}, "unknown request type: 'constructor'"],
  ['__proto__', {}, "unknown request type: '__proto__'"],
  ['poke', { targets: ['low'] }, "unknown request type: 'poke'"],
];

describe('requests to a worker', () => {
  const worker = useWorker();

  it.each(REFUSED)('%s %j is refused: %s', async (type, data, error) => {
    const client = await worker.client();
    await expect(client.answers(request(type, data))).resolves.toEqual([refusal(error)]);
  });

  it.each(['poll', 'pause', 'continue'])('%s accepts targets, or all, and replies ok', async (type) => {
    const client = await worker.client();
    for (const data of [undefined, null, {}, 0, '', 'low', 5, [], { targets: ['low', 'low', 'high'] }]) {
      await expect(client.answers(request(type, data))).resolves.toEqual([OK]);
    }
  });

  it.each([0, -7, 999_999, 1e15])('echoes the number %d', async (no) => {
    const client = await worker.client();
    await expect(client.answers(JSON.stringify([0, { no, type: 'poll' }, 'extra', 1]))).resolves.toEqual([
      `[1,{"no":${no},"data":"ok"}]`,
    ]);
  });

  it('reads a request in any pieces, and several at once', async () => {
    const client = await worker.client();
    const bytes = Buffer.from(`${request('pause', { targets: ['low'] })}\x04${request('poll')}\x04[2`);
    for (const byte of bytes) client.write(Uint8Array.of(byte));
    await expect(client.take(2)).resolves.toEqual([OK, OK]);
    client.write(']\x04');
    await expect(client.take()).resolves.toEqual(['[3]']);
    await client.answers(request('continue'));
  });

  it('answers status with its targets, paused or not, and its memory', async () => {
    const client = await worker.client();
    await client.answers(request('pause', { targets: ['high'] }));
    const [reply = ''] = await client.answers(request('status'));
    const usage =
      /"memoryUsage":\{"rss":\d+,"heapTotal":\d+,"heapUsed":\d+,"external":\d+,"arrayBuffers":\d+\}/;
    expect(reply).toMatch(usage);
    expect(reply.replace(usage, '"memoryUsage":{}')).toBe(
      '[1,{"no":1,"data":{"targets":{"low":{"paused":false,"concurrency":2,"length":0},' +
        '"high":{"paused":true,"concurrency":1,"length":0}},"jobPromisesCount":0,"memoryUsage":{}}}]',
    );
    await client.answers(request('continue'));
  });

  it.each(['n1', 'constructor', '__proto__'])('adds, changes and removes the target %s', async (target) => {
    const client = await worker.client();
    await expect(client.answers(request('add-target', { target, concurrency: 3 }))).resolves.toEqual([OK]);
    await expect(
      client.answers(request('set-target-concurrency', { target, concurrency: 4 })),
    ).resolves.toEqual([OK]);
    await expect(client.answers(request('status'))).resolves.toEqual([
      expect.stringContaining(`"${target}":{"paused":false,"concurrency":4,"length":0}`),
    ]);
    await expect(client.answers(request('pause', { targets: [target] }))).resolves.toEqual([OK]);
    await expect(client.answers(request('remove-target', { target }))).resolves.toEqual([OK]);
    await expect(client.answers(request('poll', { targets: [target] }))).resolves.toEqual([
      refusal(`invalid target '${target}'`),
    ]);
  });

  it('reports which signals were delivered', async () => {
    const client = await worker.client();
    await expect(client.answers(request('send-signal'))).resolves.toEqual(['[1,{"no":1,"data":{}}]']);
    await expect(
      client.answers(request('send-signal', { jobs: { 7: 15, abc: 'SIGTERM', 8: null, 9: 'NO' } })),
    ).resolves.toEqual(['[1,{"no":1,"data":{"7":false,"8":false,"9":false,"abc":false}}]']);
  });

  it('sends nothing without a request, and no reply to a response or a pong', async () => {
    const client = await worker.client();
    await expect(client.answers('[1,{"no":1,"data":"ok"}]', '[3]', '[2]')).resolves.toEqual([]);
    expect(client.received).toEqual(['[3]']);
  });
});

describe('run-manual', () => {
  const worker = useWorker({ targets: { low: 5 }, launcher: 'sleep 30' });

  it('answers when all jobs have ended, signals end them, and others are answered before', async () => {
    const [slow, fast] = [await worker.client(), await worker.client()];
    const [one = 0, two = 0] = await worker.addRows('low', 'manual', 2);
    const [waiting = 0] = await worker.addRows('low', 'waiting');
    slow.request(5, 'run-manual', { ids: [one, two, waiting, 777_777, one] });
    slow.request(6, 'poll', { targets: ['nope'] });
    await expect(slow.take()).resolves.toEqual(['[1,{"no":6,"error":"invalid target \'nope\'"}]']);
    const signal = async (jobs: object) => fast.answers(request('send-signal', { jobs }));
    await until(async () => (await signal({ [one]: 0, [two]: 0 })).join().match(/true.*true/));

    await expect(fast.ask(request('run-manual', { ids: [two] }))).resolves.toEqual([
      refusal(`another client is already waiting for job ${two}`),
    ]);
    await expect(fast.answers(request('remove-target', { target: 'low' }))).resolves.toEqual([
      refusal('queue is not empty'),
    ]);
    await signal({ [one]: 'SIGKILL', [two]: 15 });
    const ended = (name: string) =>
      `{"result":"fail","code":null,"signal":"${name}","stdout":"","stderr":""}`;
    await expect(slow.take()).resolves.toEqual([
      `[1,{"no":5,"data":{"jobs":{"${one}":${ended('SIGKILL')},"${two}":${ended('SIGTERM')}},` +
        `"errors":{"${waiting}":"status = waiting != manual","777777":"job 777777 not found"}}}]`,
    ]);
    await expect(signal({ [one]: 'SIGKILL' })).resolves.toEqual([`[1,{"no":1,"data":{"${one}":false}}]`]);
  });

  it('names the unserved target of a job, and leaves out the field of jobs that ran', async () => {
    const client = await worker.client();
    const [id = 0] = await worker.addRows('nosuch', 'manual');
    client.request(7, 'run-manual', { ids: [id] });
    await expect(client.take()).resolves.toEqual([
      `[1,{"no":7,"data":{"errors":{"${id}":"target 'nosuch' not found (job id=${id})"}}}]`,
    ]);
  });
});
