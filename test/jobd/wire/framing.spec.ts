import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FrameReader, TOO_LARGE, type Frame } from '../../../lib/jobd/protocol/frame-reader.js';
import { RequestNumbers } from '../../../lib/jobd/protocol/connection.js';

const SEED = 20_260_131;
const LIMIT = 1 << 20;

function readAll(chunks: readonly Buffer[], limit = LIMIT): Frame[] {
  const reader = new FrameReader(limit);
  return chunks.flatMap((chunk) => reader.read(chunk));
}

describe('FrameReader', () => {
  it('reports a message over the limit once, as early as possible, and continues after its end', () => {
    const reader = new FrameReader(4);
    expect(reader.read(Buffer.from('12345'))).toEqual([TOO_LARGE]);
    expect(reader.read(Buffer.from('6789'))).toEqual([]);
    expect(reader.read(Buffer.from('0\x04abcd\x04abcde\x04x\x04'))).toEqual(['abcd', TOO_LARGE, 'x']);
  });

  it('counts the bytes of a message that arrives in pieces', () => {
    const reader = new FrameReader(4);
    expect(reader.read(Buffer.from('123'))).toEqual([]);
    expect(reader.read(Buffer.from('45\x04'))).toEqual([TOO_LARGE]);
    expect(reader.read(Buffer.from('1234\x04'))).toEqual(['1234']);
  });

  it('finds the same messages in pieces of any size', () => {
    const pieces = fc.array(fc.string({ unit: 'binary', maxLength: 20 }), { maxLength: 20 });
    fc.assert(
      fc.property(pieces, fc.array(fc.nat({ max: 400 })), (texts, cuts) => {
        const messages = texts.map((text) => text.replaceAll('\x04', '').toWellFormed());
        const bytes = Buffer.from(messages.map((message) => `${message}\x04`).join(''));
        const ends = [...cuts, bytes.length].filter((cut) => cut <= bytes.length).sort((a, b) => a - b);
        const chunks = ends.map((end, index) => bytes.subarray(index === 0 ? 0 : ends[index - 1], end));
        expect(readAll(chunks)).toEqual(messages);
      }),
      { seed: SEED },
    );
  });

  it('reads a large message byte by byte in linear time', () => {
    const million = 1 << 20;
    const reader = new FrameReader(million);
    const byte = Buffer.from('x');
    const start = process.cpuUsage();
    for (let sent = 0; sent < million; sent++) reader.read(byte);
    expect(reader.read(Buffer.from([4]))).toEqual(['x'.repeat(million)]);
    // One copy of all for each byte would be 500 GB.
    expect(process.cpuUsage(start).user / 1e6).toBeLessThan(10);
  });
});

describe('RequestNumbers', () => {
  it('start at random, count by one, and never are 0 or more than 999998', () => {
    const numbers = new RequestNumbers(999_997);
    expect([numbers.next(), numbers.next(), numbers.next(), numbers.next()]).toEqual([
      999_997, 999_998, 1, 2,
    ]);
    const first = new Set(Array.from({ length: 20 }, () => new RequestNumbers().next()));
    expect(first.size).toBeGreaterThan(1);
    expect(Math.min(...first)).toBeGreaterThan(0);
  });
});
