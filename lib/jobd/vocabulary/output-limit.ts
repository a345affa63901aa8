/** Replaces what is left out, and counts towards the limit. */
const marker = (bytes: number) => `\n[jobd: ${bytes} more bytes of output left out]\n`;
/** A marker's longest form. */
const MARKER_BYTES = marker(Number.MAX_SAFE_INTEGER).length;

/** `text`, or as much of it as fits into `limit` bytes with a marker. */
export function fitBytes(text: string, limit: number): string {
  // A UTF-16 unit takes at most three bytes: usually there is nothing to count.
  if (text.length * 3 <= limit) return text;
  const bytes = Buffer.byteLength(text);
  return bytes <= limit ? text : withMarker(text, bytes, limit);
}

/** The beginning of `text`, and a marker with how many bytes were left out, in `limit` bytes together. */
export function withMarker(text: string, bytes: number, limit: number): string {
  const head = headOf(text, Math.max(0, limit - MARKER_BYTES));
  const note = marker(bytes - Buffer.byteLength(head));
  return limit < MARKER_BYTES ? headOf(text, limit) : `${head}${note}`;
}

/** The longest beginning of at most so many bytes that ends between characters. */
export function headOf(text: string, bytes: number): string {
  const encoded = Buffer.from(text.slice(0, bytes));
  if (encoded.length <= bytes) return encoded.toString();
  let end = bytes;
  while (end > 0 && ((encoded[end] ?? 0) & 0xc0) === 0x80) end--;
  return encoded.subarray(0, end).toString();
}
