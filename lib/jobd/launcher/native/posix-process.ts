import { EventEmitter } from 'node:events';
import { constants } from 'node:os';
import { isMainThread } from 'node:worker_threads';
import type { Libc } from './libc.js';
import { PipeReader } from './pipe-reader.js';
import type { OnOutput, StartedProcess } from '../../vocabulary/started-process.js';

type End = readonly [code: number | null, signal: string | null];

/** Of several names the first, as Node does: SIGABRT, not SIGIOT. */
const SIGNAL_NAMES = new Map(
  Object.entries(constants.signals)
    .reverse()
    .map(([name, number]) => [number, name]),
);

/**
 * A process that takes longer has its output read as it comes. Until then it fits into the pipe, or waits.
 * A thread gets no signals, and learns of a process's end from the end of its output.
 */
const SHORT_MS = isMainThread ? 10 : 0;

/** A process started without child_process, with the same events. */
export class PosixProcess extends EventEmitter implements StartedProcess {
  private readonly outputs: readonly PipeReader[];
  private readonly following: NodeJS.Timeout;
  private end: End | undefined;
  private tell: OnOutput = () => undefined;

  /**
   * @param files the descriptors to read its output from, which are this object's from now on
   * @param onOutputEnd called when no process holds its output any more, usually because it has ended
   */
  constructor(
    readonly pid: number,
    files: { readonly stdout: number; readonly stderr: number },
    libc: Libc,
    private readonly onOutputEnd: () => void,
  ) {
    super();
    const onEnd = () => this.outputEnded();
    this.outputs = (['stdout', 'stderr'] as const).map(
      (stream) => new PipeReader(files[stream], libc, { onData: (chunk) => this.tell(stream, chunk), onEnd }),
    );
    this.following = setTimeout(() => this.outputs.forEach((output) => output.follow()), SHORT_MS);
  }

  onOutput(listener: OnOutput): void {
    this.tell = listener;
  }

  letGo(): void {
    for (const output of this.outputs) output.letGo();
  }

  /** @param status the result of `waitpid`; undefined if it is lost */
  ended(status: number | undefined): void {
    clearTimeout(this.following);
    const { hasOutputEnded } = this;
    const end: End = status === undefined ? [null, null] : decoded(status);
    this.end = end;
    this.emit('exit', ...end);
    if (hasOutputEnded) this.emit('close', ...end);
    else for (const output of this.outputs) output.finish();
  }

  private get hasOutputEnded(): boolean {
    return this.outputs.every(({ hasEnded }) => hasEnded);
  }

  private outputEnded(): void {
    if (!this.hasOutputEnded) return;
    if (this.end) this.emit('close', ...this.end);
    else this.onOutputEnd();
  }
}

function decoded(status: number): End {
  const signal = status & 0x7f;
  return signal === 0 ? [(status >> 8) & 0xff, null] : [null, SIGNAL_NAMES.get(signal) ?? `SIG${signal}`];
}
