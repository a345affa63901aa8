import { readSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Libc } from './libc.js';

const READ_BYTES = 65_536;
/** A read can empty a pipe; after some reads a process is still writing. */
const MAX_READS = 4;

export interface PipeListener {
  readonly onData: (chunk: Buffer) => void;
  /** No process holds the other end any more. */
  readonly onEnd: () => void;
}

/** The reading end of a pipe. It reads only when asked: most jobs end soon and print nothing. */
export class PipeReader {
  hasEnded = false;
  private socket: Socket | undefined;

  /** @param fd the descriptor, which this object owns from now on */
  constructor(
    private readonly fd: number,
    private readonly libc: Libc,
    private readonly listener: PipeListener,
  ) {}

  /** Reads what comes, when it comes. */
  follow(): void {
    if (this.hasEnded || this.socket) return;
    this.socket = new Socket({ fd: this.fd, writable: false })
      .on('data', this.listener.onData)
      // A broken pipe ends the output; the exit of the process is reported separately.
      .on('error', () => undefined)
      .once('close', () => this.end());
  }

  /** It no longer keeps this process alive. */
  letGo(): void {
    this.socket?.unref();
  }

  /** Reads the available output; if that is not all, continues as more arrives. */
  finish(): void {
    for (let reads = 0; reads < MAX_READS && !this.hasEnded && !this.socket; reads++) {
      const state = this.libc.look(this.fd);
      if (state === 'open') break;
      if (state === 'data') this.listener.onData(this.read());
      else this.close();
    }
    this.follow();
  }

  private read(): Buffer {
    const bytes = Buffer.allocUnsafe(READ_BYTES);
    return bytes.subarray(0, readSync(this.fd, bytes));
  }

  private close(): void {
    this.libc.close(this.fd);
    this.end();
  }

  private end(): void {
    this.hasEnded = true;
    this.listener.onEnd();
  }
}
