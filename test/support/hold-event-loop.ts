const NEVER_TOLD = new Int32Array(new SharedArrayBuffer(4));

/** As a long computation does: no timer and no message gets its turn meanwhile. It needs no processor itself. */
export function holdEventLoop(ms: number): void {
  const end = performance.now() + ms;
  for (let left = ms; left > 0; left = end - performance.now()) Atomics.wait(NEVER_TOLD, 0, 0, left);
}
