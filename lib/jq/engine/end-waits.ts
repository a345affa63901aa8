/** A waiter is called at most once. */
type Waiter = () => void;

/** Long polls that wait for a key. */
export class EndWaits {
  private readonly byKey = new Map<string, Set<Waiter>>();

  /** `woken` resolves when the key is woken, the time is over, the signal aborts, or `cancel` is called. */
  wait(key: string, ms: number, signal?: AbortSignal): { readonly woken: Promise<void>; cancel(): void } {
    let end: Waiter = () => undefined;
    const woken = new Promise<void>((resolve) => (end = resolve));
    const waiters = this.byKey.get(key) ?? new Set();
    const cancel = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
      waiters.delete(cancel);
      if (waiters.size === 0 && this.byKey.get(key) === waiters) this.byKey.delete(key);
      end();
    };
    const timer = setTimeout(cancel, ms);
    signal?.addEventListener('abort', cancel);
    this.byKey.set(key, waiters.add(cancel));
    if (signal?.aborted) cancel();
    return { woken, cancel };
  }

  /** Wakes all long polls that wait for the key. */
  wake(key: string): void {
    for (const waiter of Array.from(this.byKey.get(key) ?? [])) waiter();
  }

  wakeAll(): void {
    for (const key of Array.from(this.byKey.keys())) this.wake(key);
  }
}
