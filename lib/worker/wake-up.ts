// Of the module, not the globals: a test's fake timers must not keep an app from closing.
import { clearTimeout, setTimeout } from 'node:timers';

/** Lets one loop wait until there may be something to do. */
export class WakeUp {
  /** Ends the wait, if there is one. */
  call: () => void = () => undefined;

  /** @param timeout in ms */
  wait(timeout?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = timeout === undefined ? undefined : setTimeout(resolve, timeout);
      this.call = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
