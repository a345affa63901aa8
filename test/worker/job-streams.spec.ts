import { beforeEach, describe, expect, it } from '@jest/globals';
import { JobStreams } from '../../lib/worker/job-streams.js';
import { gate } from '../support/gate.js';
import { eventually } from '../support/until.js';
import { claimOf, KeptRecords } from './kept-records.js';

/** Largest chunk, and how much a handler may be ahead of its server. */
const [CHUNK, AHEAD] = [64 * 1024, 256 * 1024];

describe('JobStreams', () => {
  let records: KeptRecords;
  let streams: JobStreams;

  beforeEach(() => {
    records = new KeptRecords();
    streams = new JobStreams({
      ...{ claim: claimOf(1), records, codec: records.codec, now: () => 0 },
      onLost: () => {
        throw new Error('lost');
      },
    });
  });

  it('sends what is streamed at once in one call, and says how much was sent before', async () => {
    for (let chunk = 0; chunk < 3; chunk++) void streams.chunk(chunk);
    void streams.log('a line');
    await streams.flush();
    await streams.chunk(3);
    await streams.flush();
    expect(records.streamed).toEqual([
      { kind: 'output', sent: 0, entries: 3 },
      { kind: 'log', sent: 0, entries: 1 },
      { kind: 'output', sent: 3, entries: 1 },
    ]);
  });

  it('holds up a handler that is too far ahead of its server', async () => {
    const server = gate();
    records.appending = () => server.passed;
    let sent = 0;
    const large = 'x'.repeat(CHUNK - 2);
    const streaming = (async () => {
      for (let chunk = 0; chunk < 20; chunk++) {
        await streams.chunk(large);
        sent += 1;
      }
    })();
    await eventually(() => expect(sent * CHUNK).toBeGreaterThanOrEqual(AHEAD));
    const ahead = sent;
    server.open();
    await streaming;
    await streams.flush();
    // One call is under way, and one waits.
    expect(ahead * CHUNK).toBeLessThanOrEqual(2 * AHEAD);
    expect(records.streamed.reduce((all, { entries }) => all + entries, 0)).toBe(20);
  });

  it('rejects all that comes after a call that failed', async () => {
    records.isLost = true;
    void streams.chunk(1);
    await expect(streams.flush()).rejects.toThrow('lost');
    records.isLost = false;
    await expect(streams.chunk(2)).rejects.toThrow('lost');
    await expect(streams.flush()).rejects.toThrow('lost');
    expect(records.streamed).toEqual([]);
  });

  it('refuses a chunk that is too large', async () => {
    await expect(streams.chunk('x'.repeat(CHUNK))).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    await streams.chunk('x'.repeat(CHUNK - 2));
    await streams.flush();
    expect(records.streamed).toHaveLength(1);
  });
});
