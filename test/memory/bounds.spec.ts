import { describe, expect, it } from '@jest/globals';
import { MAX_STREAM_BYTES } from '../../lib/job/streams.js';
import { KEPT_HOURS } from '../../lib/job/statistics.js';
import { MemoryServer } from '../../lib/memory/memory-server.js';
import { MemorySource } from '../../lib/memory/memory-source.js';
import { MemoryStatistics } from '../../lib/memory/memory-statistics.js';
import { MemoryStream } from '../../lib/memory/memory-stream.js';

const HOUR_MS = 3_600_000;

describe('The embedded server keeps in memory', () => {
  it('no workers that have stopped', async () => {
    const server = new MemoryServer();
    const source = new MemorySource(server);
    await source.open(['fn']);
    const { workers, cancellations, schedules, sleepers } = server.function('fn');
    expect([workers, cancellations.size, schedules.tickers.size]).toEqual([1, 1, 1]);
    await source.close();
    expect([
      server.function('fn').workers,
      cancellations.size,
      schedules.tickers.size,
      sleepers.size,
    ]).toEqual([0, 0, 0, 0]);
  });

  it('the hours of statistics that can be read', () => {
    const statistics = new MemoryStatistics();
    const read = () => statistics.read([0, 1]).map((counts) => counts.get(':stalled'));
    for (const hour of [0, 1, KEPT_HOURS]) statistics.stalled(false, hour * HOUR_MS);
    expect(read()).toEqual([1, 1]);
    statistics.stalled(false, (KEPT_HOURS + 1) * HOUR_MS);
    expect(read()).toEqual([undefined, 1]);
  });

  it('the latest bytes of what a job streams, up to a limit', () => {
    const stream = new MemoryStream();
    const third = new Uint8Array(Math.ceil(MAX_STREAM_BYTES / 3));
    stream.append([third, third, third]);
    const { entries, total } = stream.read(0);
    expect([entries.length, total]).toEqual([2, 3]);
  });
});
