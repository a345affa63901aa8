import { beforeEach, describe, expect, it } from '@jest/globals';
import { keysOf } from '../../../lib/gearmonkey/core/wire/protocol.js';
import { readJob, readPayload } from '../../../lib/gearmonkey/features/views/view-scripts.js';
import { useRedisServer } from '../../support/use-redis.js';

const MIB = 1_048_576;
const server = useRedisServer();
const redis = () => server.redis;
let fn = '';
beforeEach(() => void (fn = server.fn()));

const keyOf = (id: string) => keysOf(fn).jobs + id;
const write = (fields: Record<string, string | Buffer>) => redis().hset(keyOf('1'), fields);

async function job(most = 100) {
  const found = await readJob.run(redis(), [keysOf(fn).jobs], '1', most);
  return (
    found && {
      stored: Object.fromEntries([...found.stored].map(([name, value]) => [name, String(value)])),
      lengths: Object.fromEntries(found.lengths),
    }
  );
}

async function payload(field: 'input' | 'output', most = 100) {
  const found = await readPayload.run(redis(), [keysOf(fn).jobs], '1', field, most);
  return found && { ...found, bytes: found.bytes.toString() };
}

/** What a job of a flow that is being created looks like, before its flow is written. */
const unbegun = () => ({ status: 'idle', input: '1', after: '1', flow: `n1:${fn}` });

describe('read-job.lua', () => {
  it('finds nothing where there is no job, and under a key of another type', async () => {
    expect(await job()).toBeUndefined();
    await redis().set(keyOf('1'), 'text');
    expect(await job()).toBeUndefined();
  });

  it('reads all fields but the payloads, and the lengths of all', async () => {
    await write({ status: 'success', input: 'in', output: 'long output', tag: '', other: 'é' });
    expect(await job()).toEqual({
      stored: { status: 'success', tag: '', other: 'é' },
      lengths: { status: 7, input: 2, output: 11, tag: 0, other: 2 },
    });
  });

  it('reads the output of a failed job if no other field says why', async () => {
    await write({ status: 'error', output: 'why' });
    expect((await job())?.stored).toEqual({ status: 'error', output: 'why' });
    await write({ error: '{}' });
    expect((await job())?.stored).toEqual({ status: 'error', error: '{}' });
  });

  it('cuts fields at so many bytes, and tells their lengths', async () => {
    await write({ status: 'idle', text: 'abcdef' });
    expect(await job(4)).toEqual({
      stored: { status: 'idle', text: 'abcd' },
      lengths: { status: 4, text: 6 },
    });
  });

  it('leaves out a field above 4 MiB, and those that follow 4 MiB of others', async () => {
    await write({ a: Buffer.alloc(4 * MIB + 1, 'a'), b: Buffer.alloc(4 * MIB, 'b'), c: 'c' });
    const found = await job(8 * MIB);
    expect(Object.keys(found?.stored ?? {})).toEqual(['b']);
    expect(found?.lengths).toEqual({ a: 4 * MIB + 1, b: 4 * MIB, c: 1 });
  });

  it('does not see a job of a flow that is still being created', async () => {
    await write(unbegun());
    expect(await job()).toBeUndefined();
    await redis().hset(`job:${fn}:flow:n1`, 'total', 1);
    expect((await job())?.stored).toMatchObject({ status: 'idle' });
  });
});

describe('read-payload.lua', () => {
  it('finds nothing where there is no job or field, and under a key of another type', async () => {
    expect(await payload('input')).toBeUndefined();
    await write({ status: 'idle', output: 'x' });
    expect(await payload('input')).toBeUndefined();
    await redis().del(keyOf('1'));
    await redis().set(keyOf('1'), 'text');
    expect(await payload('input')).toBeUndefined();
  });

  it('reads the beginning, the whole length and the status', async () => {
    await write({ status: 'success', input: 'abcdef', output: '' });
    expect(await payload('input', 4)).toEqual({ status: 'success', length: 6, bytes: 'abcd' });
    expect(await payload('input', 0)).toEqual({ status: 'success', length: 6, bytes: '' });
    expect(await payload('output')).toEqual({ status: 'success', length: 0, bytes: '' });
  });

  it('reads what another program has written without a status', async () => {
    await write({ input: 'abc' });
    expect(await payload('input')).toEqual({ status: '', length: 3, bytes: 'abc' });
  });

  it('gives only the length of one above 64 MiB', async () => {
    const LARGEST = 64 * MIB;
    await redis().hset(keyOf('1'), 'input', Buffer.alloc(LARGEST + 1, 'a'));
    expect(await payload('input', 10)).toEqual({ status: '', length: LARGEST + 1, bytes: '' });
  });

  it('does not see a job of a flow that is still being created', async () => {
    await write(unbegun());
    expect(await payload('input')).toBeUndefined();
    await redis().hset(`job:${fn}:flow:n1`, 'total', 1);
    expect(await payload('input')).toMatchObject({ bytes: '1' });
  });
});
