import { describe, expect, it } from '@jest/globals';
import { checkFunctionName, MAX_FUNCTION_NAME_BYTES } from '../../lib/job/function-name.js';
import { InvalidFunctionNameError } from '../../lib/job/errors.js';

describe('checkFunctionName', () => {
  it.each([
    [undefined, 'got undefined'],
    [7, 'got number'],
    [null, 'got object'],
    ['', 'it is empty'],
    [' ', 'white space'],
    ['a b', 'white space'],
    ['a\tb', 'white space'],
    ['a\u00a0b', 'white space'],
    ['a\u200bb', 'control characters'],
    ['a\u200db', 'control characters'],
    ['\u200d🐒', 'control characters'],
    ['🐒\u200d', 'control characters'],
    ['a\r\n', 'control characters'],
    ['\0', 'control characters'],
    ['}{', 'hash tag'],
    ['a}', 'hash tag'],
    ['{{a}}', 'hash tag'],
    ['\udc00', 'not well-formed'],
    ['é'.repeat(101), `more than ${MAX_FUNCTION_NAME_BYTES} bytes`],
  ])('refuses %p', (name, reason) => {
    expect(() => checkFunctionName(name)).toThrow(InvalidFunctionNameError);
    expect(() => checkFunctionName(name)).toThrow(reason);
  });

  it('shows no more than the beginning of a long name', () => {
    expect(() => checkFunctionName('x'.repeat(1024))).toThrow(/^.{1,300}$/);
  });

  it('says which names are allowed', () => {
    expect(() => checkFunctionName('a b')).toThrow('such as "resize" or "mail:send"');
  });

  it.each([
    'resize',
    'a:b',
    '{a}',
    'x{a}y',
    'größe',
    '🐒',
    '👩‍👩‍👧',
    '🧑🏽‍🚀',
    '❤️‍🔥',
    'é'.repeat(100),
    '*',
    'a/b',
    '"',
  ])('accepts %s unchanged', (name) => {
    expect(checkFunctionName(name)).toBe(name);
  });
});
