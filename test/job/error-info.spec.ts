import { describe, expect, it } from '@jest/globals';
import { JobFailedError, messageOf, toErrorInfo, type JobErrorInfo } from '../../lib/job/errors.js';
import { HOSTILE_VALUES, SECRET } from '../support/hostile-values.js';
import { onThisMachine } from '../support/machine.js';

/** Far below the limit of a payload. */
const MOST_BYTES = 200_000;

/** The error and its causes. */
function* chainOf(info: JobErrorInfo): Generator<JobErrorInfo> {
  for (let next: JobErrorInfo | undefined = info; next; next = next.cause) yield next;
}

describe('toErrorInfo', () => {
  describe.each(HOSTILE_VALUES)('of %s', (_, make) => {
    const info = toErrorInfo(make());
    const errors = [...chainOf(info)];

    it('is a new object with only well-formed texts', () => {
      for (const { cause: _cause, ...texts } of errors) {
        expect(Object.getPrototypeOf(texts)).toBe(Object.prototype);
        expect(Object.keys(texts)).toEqual(expect.arrayContaining(['name', 'message']));
        for (const text of Object.values(texts)) {
          expect(typeof text).toBe('string');
          expect(text.isWellFormed()).toBe(true);
        }
      }
      expect(JSON.parse(JSON.stringify(info))).toEqual(info);
    });

    it('is limited in size and depth', () => {
      expect(errors.length).toBeLessThanOrEqual(6);
      expect(Buffer.byteLength(JSON.stringify(info))).toBeLessThan(MOST_BYTES);
    });

    it('stays the same when it is stored and thrown again', () => {
      expect(toErrorInfo(info)).toEqual(info);
    });

    it('contains no secret', () => {
      expect(JSON.stringify(info)).not.toContain(SECRET);
      expect(messageOf(make())).not.toContain(SECRET);
    });

    it('has a message that fits', () => {
      const { message } = toErrorInfo(make(), { maxMessageBytes: 100 });
      expect(Buffer.byteLength(message)).toBeLessThanOrEqual(100);
    });
  });

  it.each([
    ['word', 'word'],
    [undefined, 'undefined'],
    [null, 'null'],
    [7, '7'],
    [7n, '7'],
    [Symbol('s'), 'Symbol(s)'],
    [{ a: 1 }, 'an object'],
    [{ code: 5 }, 'an object with code 5'],
    [
      { status: 404, reason: 'no such cat', token: 'x', code: {} },
      'an object with status 404, reason no such cat',
    ],
    [[1], 'an array'],
    [() => 1, 'a function'],
  ])('accepts values that are no Error: %p', (thrown, message) => {
    expect(toErrorInfo(thrown)).toEqual({ name: 'Error', message });
  });

  it('treats an object with a message as an error', () => {
    const thrown = { statusCode: 404, message: 'no such cat', code: 'ENOCAT', stack: 7, cause: 'why' };
    const info = {
      name: 'Error',
      message: 'no such cat',
      code: 'ENOCAT',
      cause: { name: 'Error', message: 'why' },
    };
    expect(toErrorInfo(thrown)).toEqual(info);
  });

  it('keeps name, message, stack, code and causes', () => {
    const error = Object.assign(
      new RangeError('outer', { cause: new TypeError('inner', { cause: 'word' }) }),
      { code: 'E_OUTER' },
    );
    expect(toErrorInfo(error)).toEqual({
      name: 'RangeError',
      message: 'outer',
      code: 'E_OUTER',
      stack: error.stack,
      cause: {
        name: 'TypeError',
        message: 'inner',
        stack: expect.any(String),
        cause: { name: 'Error', message: 'word' },
      },
    });
  });

  it('leaves out all stacks if only messages are stored', () => {
    const error = new RangeError('outer', { cause: new TypeError('inner') });
    expect(toErrorInfo(error, { detail: 'message' })).toEqual({
      name: 'RangeError',
      message: 'outer',
      cause: { name: 'TypeError', message: 'inner' },
    });
  });

  it('keeps the error of another job as the cause', () => {
    const failed = new JobFailedError('fn', '7', { name: 'RangeError', message: 'too far' });
    expect(toErrorInfo(failed).cause).toEqual({ name: 'RangeError', message: 'too far' });
  });

  it('leaves out a code that is no string, and a missing stack', () => {
    const error = Object.assign(new Error('x'), { code: 7, stack: undefined });
    expect(toErrorInfo(error)).toEqual({ name: 'Error', message: 'x' });
  });

  it('cuts off causes that form a cycle', () => {
    const error: Error = new Error('round');
    error.cause = error;
    expect(JSON.stringify(toErrorInfo(error)).split('"message":"round"')).toHaveLength(7);
  });
});

describe('messageOf', () => {
  it('lists the messages of the errors of an AggregateError', () => {
    const both = [new Error('connect ECONNREFUSED ::1:1'), new Error('connect ECONNREFUSED 127.0.0.1:1')];
    const words = 'connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1';
    expect(messageOf(Object.assign(new AggregateError(both), { code: 'ECONNREFUSED' }))).toBe(words);
    expect(messageOf(new AggregateError(both, 'Both failed'))).toBe(`Both failed: ${words}`);
    expect(messageOf(new AggregateError(Array.from({ length: 9 }, () => 'no')))).toBe(
      'no; no; no; no; no; and 4 more',
    );
  });

  it.each([
    ['an error without a message', Object.assign(new Error(''), { code: 'EPIPE' }), 'EPIPE'],
    ['an error without a message or code', new RangeError(''), 'RangeError'],
    [
      'a message that is a list',
      Object.assign(new Error('x'), { message: ['a is wrong', 'b is late'] }),
      'a is wrong, b is late',
    ],
    ['a message that is a number', Object.assign(new Error('x'), { message: 7 }), '7'],
  ])('describes %s', (_, thrown, words) => {
    expect(messageOf(thrown)).toBe(words);
  });

  it.each([
    ['postgres://app:pw@db/x is down', 'postgres://***@db/x is down'],
    ['rediss://:p@w@h:1,rediss://u:pw@i', 'rediss://***@h:1,rediss://***@i'],
    ['https://token@example.org/a?b=1', 'https://***@example.org/a?b=1'],
    ['amqp://u:p/w#?@mq', 'amqp://***@mq'],
    ['GET http://h/a?x=1&api_key=k&y=2', 'GET http://h/a?x=1&api_key=***&y=2'],
    ['http://localhost:3000/@scope/x', 'http://localhost:3000/@scope/x'],
    ['http://[::1]:80/@x', 'http://[::1]:80/@x'],
    ['file:///app/node_modules/@nestjs/core/a.js:1:2', 'file:///app/node_modules/@nestjs/core/a.js:1:2'],
    ['write to a@b.org at 10:30', 'write to a@b.org at 10:30'],
  ])('hides the credentials of URLs: %s', (text, safe) => {
    expect(messageOf(text)).toBe(safe);
  });

  it('hides a password at the point where the text is cut off', () => {
    for (let before = 8100; before < 8300; before += 7) {
      const text = `${'x'.repeat(before)} postgres://app:secret@db`;
      expect(messageOf(text)).not.toContain('secret');
      expect(messageOf(`${text}${'y'.repeat(2000)}`)).not.toContain('secret');
    }
    expect(messageOf(`${'redis://u:secret@h '.repeat(1000)}redis://u:secret`)).not.toContain('secret');
    expect(messageOf(`a redis://u:${'secret'.repeat(2000)}`)).not.toContain('secretsecret');
  });

  it('takes linear time for hostile text', () => {
    for (const part of ['a', 'a://', 'a://b:', 'a://b@', '?token', 'http://a?token=&'])
      messageOf(`${part.repeat(3000)} ://`);
    const began = performance.now();
    for (const part of ['a', 'a://', 'a://b:', '?token', 'http://a?token=&'])
      messageOf(`${part.repeat(3000)} ://`);
    expect(performance.now() - began).toBeLessThan(onThisMachine(2000));
  });
});
