import { constants } from 'node:os';
import { MAX_TIMER_MS } from '../../job/duration.js';
import type { JobResult } from '../vocabulary/job-result.js';
import { OutputBuffer } from './output-buffer.js';
import { isShortage } from './shortage.js';
import type { StartedProcess } from '../vocabulary/started-process.js';

export interface JobProcessOptions {
  readonly maxOutputBuffer: number;
  readonly outputGrace: number;
  readonly killGrace: number;
  readonly timeout: number | undefined;
  /** The text of stderr if the process couldn't be started. */
  readonly describeFailure: (error: Error) => string;
}

const SIGNAL_NUMBERS: ReadonlySet<number> = new Set([0, ...Object.values(constants.signals)]);
const GROUP_CHECK_MS = 20;

/** A process that leads its own group, from its start to the end of its output. */
export class JobProcess {
  readonly result: Promise<JobResult>;
  private readonly stdout: OutputBuffer;
  private readonly stderr: OutputBuffer;
  private readonly timers = new Set<NodeJS.Timeout>();
  private finish: (result: JobResult) => void = () => undefined;
  private hasExited = false;
  private terminatedBecause: string | undefined;
  private isKilled = false;

  constructor(
    private readonly child: StartedProcess,
    private readonly options: JobProcessOptions,
  ) {
    this.stdout = new OutputBuffer(options.maxOutputBuffer);
    this.stderr = new OutputBuffer(options.maxOutputBuffer);
    child.onOutput((stream, chunk) => this[stream].add(chunk));
    this.result = new Promise((resolve) => (this.finish = resolve));
    this.watch();
    const { timeout } = options;
    if (timeout !== undefined)
      this.later(timeout, () => this.terminate(`timed out after ${timeout / 1000} s`));
  }

  signal(signal: string | number): boolean {
    if (this.hasExited) return false;
    if (typeof signal === 'number' ? !SIGNAL_NUMBERS.has(signal) : !(signal in constants.signals))
      return false;
    return this.signalGroup(signal as NodeJS.Signals | number);
  }

  terminate(why: string): boolean {
    if (this.terminatedBecause !== undefined || this.hasExited) return false;
    this.terminatedBecause = why;
    this.signalGroup('SIGTERM');
    this.later(this.options.killGrace, () => {
      this.isKilled = true;
      this.signalGroup('SIGKILL');
    });
    return true;
  }

  private watch(): void {
    const { child, options } = this;
    child.once('error', (error) => {
      // Also emitted where a signal can't be sent.
      if (child.pid !== undefined) return;
      const isShort = isShortage(error) ? { isShort: true } : {};
      const stderr = options.describeFailure(error);
      this.end({ code: null, signal: null, stdout: '', stderr, ...isShort });
    });
    child.once('exit', (code, signal) => {
      this.hasExited = true;
      const done = () => this.whenGroupEnded(() => this.ended(code, signal));
      // Output may still be arriving, or be held open by a child that outlives its parent.
      child.once('close', done);
      this.later(options.outputGrace, done);
    });
  }

  /** Waits for all signalled processes, including children that outlive their parent. */
  private whenGroupEnded(then: () => void): void {
    const isTold = this.terminatedBecause !== undefined && !this.isKilled;
    if (!isTold || !this.signalGroup(0)) then();
    else this.later(GROUP_CHECK_MS, () => this.whenGroupEnded(then));
  }

  private ended(code: number | null, signal: string | null): void {
    const why = this.terminatedBecause;
    const note = why === undefined ? '' : `[jobd: ${why}]\n`;
    const stderr = this.stderr.end();
    const separator = note && stderr && !stderr.endsWith('\n') ? '\n' : '';
    this.end({ code, signal, stdout: this.stdout.end(), stderr: `${stderr}${separator}${note}` });
  }

  private end(ended: Omit<JobResult, 'result'>): void {
    for (const timer of this.timers) clearTimeout(timer);
    // A grandchild may continue to write; its output is ignored, and does not keep this process alive.
    this.child.onOutput(() => undefined);
    this.child.letGo();
    this.child.removeAllListeners('close');
    const isOk = ended.code === 0 && this.terminatedBecause === undefined;
    this.finish({ result: isOk ? 'ok' : 'fail', ...ended });
  }

  /** False if no process is left. */
  private signalGroup(signal: NodeJS.Signals | number): boolean {
    const { pid } = this.child;
    if (pid === undefined) return false;
    try {
      return process.kill(-pid, signal);
    } catch {
      return false;
    }
  }

  private later(ms: number, action: () => void): void {
    const rest = ms - MAX_TIMER_MS;
    const timer = setTimeout(
      () => {
        this.timers.delete(timer);
        if (rest > 0) this.later(rest, action);
        else action();
      },
      Math.min(ms, MAX_TIMER_MS),
    );
    this.timers.add(timer);
  }
}
