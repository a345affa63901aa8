/** Runs this part of a test on a host whose clock is wrong by `ms`. The others' are right. */
export async function withClock<T>(ms: number, run: () => Promise<T>): Promise<T> {
  const real = Date.now;
  Date.now = () => real() + ms;
  try {
    return await run();
  } finally {
    Date.now = real;
  }
}
