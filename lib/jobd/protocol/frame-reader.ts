const EOT = 0x04;
const SMALLEST_STORE = 4096;
const NOTHING = Buffer.alloc(0);

/** Takes the place of a message over the limit, whose rest is read and dropped. */
export const TOO_LARGE = Symbol('too large');

/** The bytes of one message without its EOT, as text. */
export type Frame = string | typeof TOO_LARGE;

/**
 * Splits a stream of bytes into messages. Each byte is examined once and copied a bounded number of times, however
 * many chunks a message arrives in.
 */
export class FrameReader {
  private store = NOTHING;
  private length = 0;
  private skipping = false;

  /** `limit` in bytes; it may change between two reads. */
  constructor(public limit: number) {}

  /** Whether part of a message has arrived. */
  get isMidway(): boolean {
    return this.skipping || this.length > 0;
  }

  /** The messages that `chunk` completes. A message that is too large is reported at once, not at its end. */
  read(chunk: Buffer): Frame[] {
    const frames: Frame[] = [];
    let start = 0;
    for (let end = chunk.indexOf(EOT); end >= 0; end = chunk.indexOf(EOT, start)) {
      this.take(end - start, frames);
      this.finish(chunk, start, end, frames);
      start = end + 1;
    }
    if (start < chunk.length) {
      this.take(chunk.length - start, frames);
      this.keep(chunk, start, chunk.length);
    }
    return frames;
  }

  private take(bytes: number, frames: Frame[]): void {
    if (this.skipping || this.length + bytes <= this.limit) return;
    this.skipping = true;
    this.drop();
    frames.push(TOO_LARGE);
  }

  private finish(chunk: Buffer, start: number, end: number, frames: Frame[]): void {
    if (this.skipping) this.skipping = false;
    else if (this.length === 0) frames.push(chunk.toString('utf8', start, end));
    else {
      this.keep(chunk, start, end);
      frames.push(this.store.toString('utf8', 0, this.length));
    }
    this.drop();
  }

  /** Doubling keeps the copies few, even if a message arrives byte by byte. */
  private keep(chunk: Buffer, start: number, end: number): void {
    if (this.skipping) return;
    const needed = this.length + end - start;
    if (needed > this.store.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.store.length * 2, SMALLEST_STORE));
      this.store.copy(larger, 0, 0, this.length);
      this.store = larger;
    }
    chunk.copy(this.store, this.length, start, end);
    this.length = needed;
  }

  private drop(): void {
    this.store = NOTHING;
    this.length = 0;
  }
}
