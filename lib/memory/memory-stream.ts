import { MAX_ENTRIES, MAX_STREAM_BYTES, type StreamPage } from '../job/streams.js';

/** Most entries that one call reads. */
const PAGE = 500;

/** What a job has streamed. */
export class MemoryStream {
  private entries: Uint8Array[] = [];
  private bytes = 0;
  /** How many entries there have been. */
  total = 0;

  append(added: readonly Uint8Array[]): void {
    for (const entry of added) this.bytes += entry.byteLength;
    this.entries.push(...added);
    this.total += added.length;
    let dropped = 0;
    for (; this.entries.length - dropped > MAX_ENTRIES || this.bytes > MAX_STREAM_BYTES; dropped += 1)
      this.bytes -= this.entries[dropped]?.byteLength ?? 0;
    if (dropped > 0) this.entries = this.entries.slice(dropped);
  }

  read(from: number): StreamPage {
    const { total, entries } = this;
    const oldest = total - entries.length;
    const first = Math.max(from, oldest);
    const page = entries.slice(first - oldest, first - oldest + PAGE);
    return { entries: page, next: first + page.length, total };
  }
}
