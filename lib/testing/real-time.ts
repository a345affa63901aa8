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

/** Whether callbacks that a connection needs still run, in spite of fake timers. */
export async function areTicksReal(): Promise<boolean> {
  let left = 3;
  const tick = () => (left -= 1);
  process.nextTick(tick);
  queueMicrotask(tick);
  setImmediate(tick);
  await turnOfEventLoop();
  await turnOfEventLoop();
  return left === 0;
}
