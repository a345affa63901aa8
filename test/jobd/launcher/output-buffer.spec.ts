import { expect, it } from '@jest/globals';
import { OutputBuffer } from '../../../lib/jobd/launcher/output-buffer.js';

it('Output that comes in many pieces is cut at the limit', () => {
  const limit = 200;
  const buffer = new OutputBuffer(limit);
  for (let pieces = 0; pieces < 100; pieces++) buffer.add(Buffer.from('0123456789'));
  const text = buffer.end();
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limit);
  expect(text).toMatch(/^0123456789.*more bytes of output left out\]\n$/s);
});
