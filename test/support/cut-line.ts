import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A line to a server of a test that can be cut, and mended. */
export class CutLine {
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;
  private isCut = false;

  private constructor(port: number) {
    this.server = createServer((near) => {
      if (this.isCut) return near.destroy();
      const far = connect(port, '127.0.0.1');
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.sockets.add(socket);
        socket.on('error', () => undefined);
        socket.once('close', () => {
          this.sockets.delete(socket);
          other.destroy();
        });
        socket.pipe(other);
      }
      return undefined;
    });
  }

  static async to(port: number): Promise<CutLine> {
    const line = new CutLine(port);
    line.server.listen(0, '127.0.0.1');
    await once(line.server, 'listening');
    return line;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  /** Cuts it so that the next write fails at once, and mends it. */
  reset(): void {
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  mend(): void {
    this.isCut = false;
  }

  close(): void {
    this.cut();
    this.server.close();
  }
}
