import { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import { constants } from 'node:os';
import type { StartedProcess } from './started-process.js';

type End = readonly [code: number | null, signal: NodeJS.Signals | null];

const SIGNAL_NAMES = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]),
);

/** A process that was started without child_process, with the events of one that was. */
export class PosixProcess extends EventEmitter implements StartedProcess {
  readonly stdout: Socket;
  readonly stderr: Socket;
  private openStreams = 2;
  private end: End | undefined;

  /**
   * @param files the descriptors to read its output from, which are this object's from now on
   * @param onOutputEnd called when nobody holds its output any more: mostly since it has ended
   */
  constructor(
    readonly pid: number,
    files: { readonly stdout: number; readonly stderr: number },
    private readonly onOutputEnd: () => void,
  ) {
    super();
    this.stdout = this.reading(files.stdout);
    this.stderr = this.reading(files.stderr);
  }

  /** @param status as `waitpid` gives it; undefined where nobody can know any more */
  ended(status: number | undefined): void {
    this.end = status === undefined ? [null, null] : decoded(status);
    this.emit('exit', ...this.end);
    this.closeIfOver();
  }

  private reading(fd: number): Socket {
    return new Socket({ fd, writable: false }).once('close', () => {
      this.openStreams--;
      if (this.openStreams === 0 && !this.end) this.onOutputEnd();
      else this.closeIfOver();
    });
  }

  private closeIfOver(): void {
    if (this.end && this.openStreams === 0) this.emit('close', ...this.end);
  }
}

function decoded(status: number): End {
  const signal = status & 0x7f;
  return signal === 0 ? [(status >> 8) & 0xff, null] : [null, SIGNAL_NAMES.get(signal) ?? null];
}
