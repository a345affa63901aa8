/** What time it is, and what happens later. A test has a clock of its own, which stands still until it is moved. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds that never go back, for spans. */
  elapsed(): number;
  /** Calls back after so many milliseconds, unless what is returned is called before. `background`: no reason for the process to stay. */
  after(ms: number, callback: () => void, background?: boolean): () => void;
}

/** What everything goes by outside tests. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after: (ms, callback, background = false) => {
    const timer = setTimeout(callback, ms);
    if (background) timer.unref();
    return () => clearTimeout(timer);
  },
};
