const FRAME_BYTES = JSON.stringify({ text: '' }).length;

/** Makes an input whose JSON has exactly this many bytes. */
export function payloadOf(bytes) {
  return { text: 'x'.repeat(bytes - FRAME_BYTES) };
}
