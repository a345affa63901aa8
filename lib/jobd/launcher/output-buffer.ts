import { headOf, withMarker } from '../vocabulary/output-limit.js';

/**
 * Collects what a process writes to one of its streams, as text of limited size. Bytes that are not UTF-8 become
 * U+FFFD; characters that arrive in pieces stay whole.
 */
export class OutputBuffer {
  /** Created when there is something to read: most jobs print nothing, or use one stream only. */
  private decoder: InstanceType<typeof TextDecoder> | undefined;
  private readonly parts: string[] = [];
  private bytes = 0;
  private leftOut = 0;

  /** @param limit bytes of the text, the marker of a truncation included */
  constructor(private readonly limit: number) {}

  add(chunk: Buffer): void {
    if (this.leftOut > 0) this.leaveOut(chunk);
    else {
      this.decoder ??= new TextDecoder('utf-8', { ignoreBOM: true });
      this.addText(this.decoder.decode(chunk, { stream: true }));
    }
  }

  /** Call it once, last. */
  end(): string {
    const rest = this.decoder?.decode() ?? '';
    if (this.leftOut === 0) this.addText(rest);
    else this.leftOut += Buffer.byteLength(rest);
    const text = this.parts.join('');
    if (this.leftOut === 0) return text;
    return withMarker(text, this.bytes + this.leftOut, this.limit);
  }

  /** Counted as it arrives, except for a character that began before the cut. */
  private leaveOut(chunk: Buffer): void {
    let begun = 0;
    if (this.decoder) while (begun < chunk.length && ((chunk[begun] ?? 0) & 0xc0) === 0x80) begun++;
    this.leftOut += chunk.length - begun;
    const isOver = begun < chunk.length;
    this.leftOut += Buffer.byteLength(
      this.decoder?.decode(chunk.subarray(0, begun), { stream: !isOver }) ?? '',
    );
    if (isOver) this.decoder = undefined;
  }

  private addText(text: string): void {
    const size = Buffer.byteLength(text);
    const room = this.limit - this.bytes;
    const kept = size <= room ? text : headOf(text, room);
    const keptBytes = size <= room ? size : Buffer.byteLength(kept);
    this.parts.push(kept);
    this.bytes += keptBytes;
    this.leftOut += size - keptBytes;
  }
}
