import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  JOB_TTL_SECONDS,
  keysOf,
  markOf,
  newMark,
  parseEvent,
  parseProgress,
  parseReply,
} from '../../lib/gearmonkey/core/wire/protocol.js';

/** As published; the document has lost the second space before `item[1] }`. */
const SCRIPT =
  "local item = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[1], 'LIMIT', 0, 1); " +
  "if (#item > 0) then redis.call('ZREM', KEYS[1], item[1]); return { KEYS[1],  item[1] }; end";
const SHA = '5231827cd49b540660ef44969b38cc858f157824';

const sha1 = (text: string) => createHash('sha1').update(text).digest('hex');

describe("the protocol's script", () => {
  it('has the published SHA-1 only with two spaces', () => {
    expect(sha1(SCRIPT)).toBe(SHA);
    expect(sha1(SCRIPT.replace(',  ', ', '))).toMatch(/^14eede1c/);
  });

  it('is the script that the Python worker loads', () => {
    const python = readFileSync(new URL('../conformance/worker.py', import.meta.url), 'utf8');
    expect(python).toContain(SHA);
    expect(python).toContain('{ KEYS[1],  item[1] }');
  });
});

describe('keysOf', () => {
  it.each(['resize', 'mail:send', '{resize}', '🐒'])('makes the keys of the protocol for %s', (fn) => {
    expect(keysOf(fn)).toEqual({
      ids: `uid:${fn}`,
      count: `count:${fn}`,
      channel: `channel:${fn}`,
      high: `queue:${fn}:high`,
      normal: `queue:${fn}:normal`,
      low: `queue:${fn}:low`,
      scheduled: `queue:${fn}:scheduled`,
      jobs: `job:${fn}:`,
      limits: `limit:${fn}:`,
      locks: `lock:${fn}:`,
      leases: `lease:${fn}`,
      wake: `wake:${fn}`,
      leader: `leader:${fn}`,
      recovery: `recovery:${fn}`,
      plain: `plain:${fn}`,
      progress: `progress:${fn}`,
      cancel: `cancel:${fn}`,
      control: `control:${fn}`,
      schedules: `schedules:${fn}`,
      ticks: `ticks:${fn}`,
      unique: `unique:${fn}`,
      ended: `ended:${fn}:`,
      retrying: `retrying:${fn}`,
      tags: `tags:${fn}`,
      members: `queue:${fn}:flows`,
      workers: `workers:${fn}`,
      statistics: `statistics:${fn}:`,
      senders: `sender:${fn}:`,
      replies: `reply:${fn}:`,
      claims: `claims:${fn}:`,
    });
  });

  it('keeps a finished job for 25 hours', () => {
    expect(JOB_TTL_SECONDS).toBe(25 * 60 * 60);
  });
});

describe('parseEvent', () => {
  it.each(['', 'create', 'create:', 'CREATE:1', ' create:1', 'delete:1', '1', ':1'])(
    'returns undefined for %p',
    (message) => {
      expect(parseEvent(message)).toBeUndefined();
    },
  );

  it.each([
    ['create:7', 'create', '7'],
    ['start:7', 'start', '7'],
    ['finish:7', 'finish', '7'],
    ['finish:a:b\n', 'finish', 'a:b\n'],
  ])('reads %p', (message, type, id) => {
    expect(parseEvent(message)).toEqual({ type, id });
  });
});

describe('parseProgress', () => {
  it.each([
    '',
    '7',
    '7:',
    '7:3',
    '7:1:3',
    '7:1:3/',
    '7:3/10',
    ':1:3/10',
    '7:1:/10',
    '7:1:x/10',
    '7:x:3/10',
    '7:1:3/y',
    '7:1:3/10/20',
  ])('returns undefined for %p', (message) => {
    expect(parseProgress(message)).toBeUndefined();
  });

  it.each([
    ['7:1:3/10', '7', 0, 3, 10],
    ['7:42000003:0.5/1', '7', 42_000_000, 0.5, 1],
    ['a:b:2:-1/10', 'a:b', 0, -1, 10],
    ['7:4294967295000001:1e+21/1e+22', '7', 4_294_967_295_000_000, 1e21, 1e22],
  ])('reads %p', (message, id, mark, dividend, divisor) => {
    expect(parseProgress(message)).toEqual({ id, mark, dividend, divisor });
  });
});

describe('parseReply', () => {
  it.each(['', '7', '7:', '7:OUT', ':1:OUT', '7:x:OUT', 'a:1:OUT'])('returns undefined for %p', (message) => {
    expect(parseReply(message)).toBeUndefined();
  });

  it.each([
    ['7:1:', '7', 0, ''],
    ['7:42000001:a:1:b\n', '7', 42_000_000, 'a:1:b\n'],
  ])('reads %p', (message, id, mark, output) => {
    expect(parseReply(message)).toEqual({ id, mark, output });
  });
});

describe('newMark', () => {
  const marks = Array.from({ length: 1000 }, newMark);

  it('leaves room for a million tokens that Lua and JSON represent exactly', () => {
    expect(marks.filter((mark) => mark === 0 || markOf(mark) !== mark)).toEqual([]);
    expect(marks.every((mark) => markOf(mark + 999_999) === mark && mark + 999_999 < 2 ** 52)).toBe(true);
  });

  it('differs each time', () => {
    expect(new Set(marks).size).toBeGreaterThan(995);
  });
});
