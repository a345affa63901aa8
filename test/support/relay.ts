import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Connects programs with a server of a test. What becomes of their bytes, `join` says. */
export class Relay {
  /** Called with each connection of a program, and the one to the server that belongs to it. */
  join: (near: Socket, far: Socket) => void = (near, far) => near.pipe(far).pipe(near);
  /** Whether this one stays although the other one has ended. */
  spares: (socket: Socket) => boolean = () => false;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    port: number,
  ) {
    server.on('connection', (near) => {
      const far = connect(port, '127.0.0.1');
      this.tie(near, far);
      this.tie(far, near);
      this.join(near, far);
    });
  }

  static async to(port: number): Promise<Relay> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Relay(server, port);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Ends all connections but those that are spared. */
  cut(end: (socket: Socket) => unknown = (socket) => socket.destroy()): void {
    for (const socket of this.sockets) if (!this.spares(socket)) end(socket);
  }

  close(): void {
    this.cut();
    this.server.close();
  }

  private tie(socket: Socket, other: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.sockets.delete(socket);
      if (!this.spares(other)) other.destroy();
    });
  }
}
