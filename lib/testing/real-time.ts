// Imported, because fake timers replace the globals.
import { clearTimeout, setImmediate, setTimeout } from 'node:timers';

/** Lets the event loop turn once, for example to read from sockets. */
export function turnOfEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Waits in real time, even if timers are fake. */
export class RealTime {
  readonly over: Promise<void>;
  private done = false;
  private readonly timer: NodeJS.Timeout;

  constructor(ms: number) {
    let end = (): void => undefined;
    this.over = new Promise((resolve) => (end = resolve));
    this.timer = setTimeout(() => {
      this.done = true;
      end();
    }, ms);
  }

  get isOver(): boolean {
    return this.done;
  }

  clear(): void {
    clearTimeout(this.timer);
  }
}
