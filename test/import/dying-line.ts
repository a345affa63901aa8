import { afterAll, beforeAll } from '@jest/globals';
import type { Socket } from 'node:net';
import { Relay } from '../support/relay.js';

/** What the server still sees of the last call. */
export type LastCall = 'unsent' | 'unanswered';

/** A line to a server that carries so many calls of a program, and then ends it. */
export class DyingLine {
  /** How many more calls it carries. */
  left = Infinity;
  last: LastCall = 'unsent';
  /** Called in place of the next call, or of its reply. */
  onEnd: () => void = () => undefined;
  /** The server gets a last call as a whole. */
  private readonly unanswered = new WeakSet<Socket>();

  private constructor(private readonly relay: Relay) {
    relay.join = (near, far) => this.join(near, far);
    relay.spares = (socket) => this.unanswered.has(socket);
  }

  static async to(port: number): Promise<DyingLine> {
    return new DyingLine(await Relay.to(port));
  }

  url(database = 0): string {
    return `${this.relay.url}/${database}`;
  }

  close(): void {
    this.relay.close();
  }

  private join(near: Socket, far: Socket): void {
    far.on('data', (bytes) => near.write(bytes));
    near.on('data', (bytes) => {
      if (this.left > 0) {
        this.left -= 1;
        far.write(bytes);
        return;
      }
      this.onEnd();
      if (this.last === 'unanswered') {
        this.unanswered.add(far);
        far.end(bytes);
      }
      this.relay.cut();
    });
  }
}

/** For a `describe`: a line to the server at this port. */
export function useDyingLine(port: () => number): { readonly line: DyingLine } {
  let line: DyingLine | undefined;
  beforeAll(async () => {
    line = await DyingLine.to(port());
  });
  afterAll(() => line?.close());
  return {
    get line() {
      return line as DyingLine;
    },
  };
}
