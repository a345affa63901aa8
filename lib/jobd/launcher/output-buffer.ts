/** Takes the place of what is left out, and counts towards the limit. */
const marker = (bytes: number) => `\n[jobd: ${bytes} more bytes of output left out]\n`;
/** A marker's longest form. */
const MARKER_BYTES = marker(Number.MAX_SAFE_INTEGER).length;

/**
 * What a process writes to one of its streams, as text of a limited size. Bytes that are no UTF-8 become
 * U+FFFD; characters that arrive in pieces stay whole.
 */
export class OutputBuffer {
  /** Made when there is something to read: most jobs print nothing, or to one stream only. */
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

  /** Nothing may be added afterwards. */
  end(): string {
    const rest = this.decoder?.decode() ?? '';
    if (this.leftOut === 0) this.addText(rest);
    else this.leftOut += Buffer.byteLength(rest);
    const text = this.parts.join('');
    if (this.leftOut === 0) return text;
    return withMarker(text, this.bytes + this.leftOut, this.limit);
  }

  /** Counted as it comes, but for a character that was begun before the cut. */
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

/** `text`, or as much of it as goes into `limit` bytes together with a marker that says so. */
export function fitBytes(text: string, limit: number): string {
  // No character has more than three bytes a unit: mostly there is nothing to count.
  if (text.length * 3 <= limit) return text;
  const bytes = Buffer.byteLength(text);
  return bytes <= limit ? text : withMarker(text, bytes, limit);
}

function withMarker(text: string, bytes: number, limit: number): string {
  const head = headOf(text, Math.max(0, limit - MARKER_BYTES));
  const note = marker(bytes - Buffer.byteLength(head));
  return limit < MARKER_BYTES ? headOf(text, limit) : `${head}${note}`;
}

/** The longest beginning of at most so many bytes that ends between characters. */
function headOf(text: string, bytes: number): string {
  const encoded = Buffer.from(text.slice(0, bytes));
  if (encoded.length <= bytes) return encoded.toString();
  let end = bytes;
  while (end > 0 && ((encoded[end] ?? 0) & 0xc0) === 0x80) end--;
  return encoded.subarray(0, end).toString();
}
