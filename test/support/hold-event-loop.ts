/** As a long computation does: no timer and no message gets its turn meanwhile. */
export function holdEventLoop(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
