// Of the module, not the globals: those are what fake timers replace.
import { clearTimeout, setImmediate, setTimeout } from 'node:timers';

/** Lets the process do what it has to do, such as reading from sockets. */
export function turnOfEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** So much real time, whatever a test does with its timers. */
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
