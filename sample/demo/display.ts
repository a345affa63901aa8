import { relative } from 'node:path';
import cliProgress, { type MultiBar, type SingleBar } from 'cli-progress';
import type { DigestInput } from './digest.job.js';
import { formatBytes, formatCount, shorten } from './format.js';

/** Shows the progress of the demo. */
export interface Display {
  begin(files: readonly DigestInput[]): void;
  /** Called with the progress of a large file. */
  update(path: string, dividend: number, divisor: number): void;
  finish(path: string, size: number): void;
  /** Called when the second pass over the files begins. */
  beginCheck(count: number): void;
  checked(): void;
  end(): void;
}

/** Shows bars on a terminal, and occasional lines otherwise. */
export function createDisplay(folder: string, out: NodeJS.WriteStream): Display {
  return out.isTTY ? new Bars(folder, out) : new Lines();
}

const MAX_FILE_BARS = 6;

class Bars implements Display {
  private readonly bars: MultiBar;
  private total?: SingleBar;
  private readonly fileBars = new Map<string, SingleBar>();
  private done = 0;
  private bytes = 0;
  private started = 0;

  constructor(
    private readonly folder: string,
    stream: NodeJS.WriteStream,
  ) {
    this.bars = new cliProgress.MultiBar(
      { stream, hideCursor: true, clearOnComplete: false, format: ' {bar} {label}', barsize: 30, fps: 15 },
      cliProgress.Presets.shades_classic,
    );
  }

  begin(files: readonly DigestInput[]): void {
    this.started = performance.now();
    this.total = this.bars.create(files.length, 0, { label: '' });
  }

  update(path: string, dividend: number, divisor: number): void {
    const bar = this.fileBars.get(path) ?? this.open(path, divisor);
    bar?.update(dividend);
  }

  finish(path: string, size: number): void {
    this.done += 1;
    this.bytes += size;
    const rate = this.bytes / ((performance.now() - this.started) / 1000);
    const label = `${formatCount(this.done)} jobs done, ${formatBytes(this.bytes)}, ${formatBytes(rate)}/s`;
    this.total?.update(this.done, { label });
    const bar = this.fileBars.get(path);
    if (!bar) return;
    this.fileBars.delete(path);
    this.bars.remove(bar);
  }

  beginCheck(count: number): void {
    this.total = this.bars.create(count, 0, { label: 'checked directly' });
  }

  checked(): void {
    this.total?.increment();
  }

  end(): void {
    this.bars.stop();
  }

  private open(path: string, size: number): SingleBar | undefined {
    if (this.fileBars.size === MAX_FILE_BARS) return undefined;
    const label = `${shorten(relative(this.folder, path))} ${formatBytes(size)}`;
    const bar = this.bars.create(size, 0, { label });
    this.fileBars.set(path, bar);
    return bar;
  }
}

const LINES = 5;

class Lines implements Display {
  private total = 0;
  private done = 0;
  private bytes = 0;

  begin(files: readonly DigestInput[]): void {
    this.total = files.length;
  }

  update(): void {}

  finish(_path: string, size: number): void {
    this.bytes += size;
    this.step((count) => `${count} jobs done, ${formatBytes(this.bytes)}`);
  }

  beginCheck(count: number): void {
    this.total = count;
    this.done = 0;
  }

  checked(): void {
    this.step((count) => `${count} checked directly`);
  }

  end(): void {}

  /** Prints a line at every fifth of the files. */
  private step(line: (count: string) => string): void {
    const before = Math.floor((this.done * LINES) / this.total);
    this.done += 1;
    if (Math.floor((this.done * LINES) / this.total) === before) return;
    console.log(`  ${line(`${formatCount(this.done)} of ${formatCount(this.total)}`)}`);
  }
}
