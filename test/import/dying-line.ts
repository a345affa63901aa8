import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** What the server still sees of the last call. */
export type LastCall = 'unsent' | 'unanswered';

/** A line to a server that carries so many calls of a program, and then ends it. */
export class DyingLine {
  /** How many more calls it carries. */
  left = Infinity;
  /** How many it has carried. */
  carried = 0;
  last: LastCall = 'unsent';
  /** Called in place of the next call, or of its reply. */
  onEnd: () => void = () => undefined;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    port: number,
  ) {
    server.on('connection', (near) => this.join(near, connect(port, '127.0.0.1')));
  }

  static async to(port: number): Promise<DyingLine> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new DyingLine(server, port);
  }

  url(database = 0): string {
    return `redis://127.0.0.1:${(this.server.address() as AddressInfo).port}/${database}`;
  }

  close(): void {
    this.cut();
    this.server.close();
  }

  private cut(spared?: Socket): void {
    for (const socket of this.sockets) if (socket !== spared) socket.destroy();
  }

  private join(near: Socket, far: Socket): void {
    far.on('data', (bytes) => near.write(bytes));
    near.on('data', (bytes) => {
      if (this.left > 0) {
        this.left -= 1;
        this.carried += 1;
        far.write(bytes);
        return;
      }
      this.onEnd();
      if (this.last === 'unsent') return this.cut();
      near.destroy();
      // The server gets the whole call, and its answer is not read.
      far.end(bytes);
      this.cut(far);
    });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.sockets.delete(socket);
        if (other === far && this.last === 'unanswered' && this.left === 0) return;
        other.destroy();
      });
    }
  }
}
