import { expect, it } from '@jest/globals';
import { headAt } from '../../lib/job/message-pack/skip.js';

const NIL = 0xc0;

it.each([
  ['an array', [0x92], 2],
  ['a map', [0x81], 2],
  ['a long array', [0xdc, 0, 3], 3],
  ['a long map', [0xdf, 0, 0, 0, 2], 4],
])('the head of %s has no more children than bytes follow it', (_, head, children) => {
  const whole = [...head, ...Array<number>(children).fill(NIL)];
  expect(headAt(Buffer.from(whole), 0)).toEqual({ end: head.length, children });
  expect(() => headAt(Buffer.from(whole.slice(0, -1)), 0)).toThrow('cut off');
});
