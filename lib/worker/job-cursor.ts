import type { Codec, CodecName } from '../job/codec.js';
import { showAs } from '../job/show-as.js';
import { clearTimeout, setTimeout } from 'node:timers';

/** A value is written so often at most. */
const WRITE_MS = 1000;

/** How a cursor begins. */
export interface CursorStart<Value> {
  /** Its value in the first run. */
  readonly start: Value;
  /** How its value is written. @default the function's codec */
  readonly codec?: CodecName | Codec;
}

export interface CursorOptions<Value> {
  readonly value: Value;
  /** @throws if the codec has no form for it, or it is too large */
  readonly encode: (value: Value) => () => Promise<void>;
  readonly now: () => number;
  /** Called after each advance: it throws if the job has to stop, or is to go on elsewhere once the value is written. */
  readonly afterAdvance: (flush: () => Promise<void>) => Promise<void>;
}

/** Where a loop of a job stands. A later run of the same job begins with the last value that was written. */
export class JobCursor<Value = unknown> {
  static {
    showAs(JobCursor, ({ value }) => ({ value }));
  }

  private current: Value;
  private unwritten: (() => Promise<void>) | undefined;
  private writtenAt: number;
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> = Promise.resolve();

  /** @internal */
  constructor(private readonly options: CursorOptions<Value>) {
    this.current = options.value;
    this.writtenAt = options.now();
  }

  /** `start`, or where the run before stood. */
  get value(): Value {
    return this.current;
  }

  /**
   * Moves on. What was done for the values before is not done again, except in the second before a worker is killed: the
   * value is written at most once a second, when the attempt fails, and when the job is given back.
   *
   * @throws NotSerializableError · StepTooLargeError · JobAbortedError when the job has to stop, or goes on elsewhere
   */
  advance(next: Value): Promise<void> {
    const moved = this.moveTo(next);
    // It may not be awaited, and an unhandled rejection would end the process.
    moved.catch(() => undefined);
    return moved;
  }

  /** Writes what is not written yet. @internal */
  flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const write = this.unwritten;
    if (!write) return this.writing;
    this.unwritten = undefined;
    this.writtenAt = this.options.now();
    return (this.writing = this.writing.catch(() => undefined).then(write));
  }

  private async moveTo(next: Value): Promise<void> {
    this.unwritten = this.options.encode(next);
    this.current = next;
    // No longer, also if the clock was set back.
    const rest = Math.min(WRITE_MS, WRITE_MS - (this.options.now() - this.writtenAt));
    if (rest <= 0) await this.flush();
    else this.timer ??= setTimeout(() => void this.flush().catch(() => undefined), rest).unref();
    await this.options.afterAdvance(() => this.flush());
  }
}
