import { closeSync, existsSync, writeSync } from 'node:fs';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Libc } from '../../../lib/jobd/launcher/native/libc.js';
import { PipeReader } from '../../../lib/jobd/launcher/native/pipe-reader.js';
import { eventually } from '../../support/until.js';

describe('PipeReader', () => {
  const libc = Libc.open();
  let heard = '';
  let ends = 0;
  beforeEach(() => {
    heard = '';
    ends = 0;
  });

  function open() {
    const [read, write] = libc?.pipe() ?? [];
    if (!libc || read === undefined || write === undefined) throw new Error('No pipe can be had here.');
    const onData = (chunk: Buffer) => (heard += chunk.toString());
    const reader = new PipeReader(read, libc, { onData, onEnd: () => ends++ });
    return { reader, write, isOpen: () => existsSync(`/proc/self/fd/${read}`) };
  }

  it('reads nothing before it is started', () => {
    const { reader, write } = open();
    writeSync(write, 'text');
    expect([heard, reader.hasEnded]).toEqual(['', false]);
    closeSync(write);
    reader.finish();
  });

  it.each(['', 'text', 'x'.repeat(65_536)])('finishes at once if there is no writer left', (text) => {
    const { reader, write, isOpen } = open();
    writeSync(write, text);
    closeSync(write);
    reader.finish();
    expect([heard, reader.hasEnded, ends, isOpen()]).toEqual([text, true, 1, false]);
  });

  it('continues to read while there is a writer', async () => {
    const { reader, write, isOpen } = open();
    writeSync(write, 'one ');
    reader.finish();
    expect([heard, reader.hasEnded]).toEqual(['one ', false]);
    writeSync(write, 'two');
    await eventually(() => expect(heard).toBe('one two'));
    closeSync(write);
    await eventually(() => expect(ends).toBe(1));
    expect(isOpen()).toBe(false);
    reader.finish();
    reader.follow();
    expect(ends).toBe(1);
  });

  it('lets the event loop run while output arrives faster than it is read', async () => {
    const { reader, write } = open();
    const sent = 'y'.repeat(60_000);
    writeSync(write, sent);
    reader.follow();
    reader.finish();
    expect(heard).toBe('');
    await eventually(() => expect(heard).toBe(sent));
    closeSync(write);
    await eventually(() => expect(ends).toBe(1));
  });
});
