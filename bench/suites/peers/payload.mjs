const FRAME_BYTES = JSON.stringify({ text: '' }).length;

/** An input whose JSON has exactly that many bytes. */
export function payloadOf(bytes) {
  return { text: 'x'.repeat(bytes - FRAME_BYTES) };
}
