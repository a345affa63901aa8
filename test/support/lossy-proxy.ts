import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Passes everything on, but cuts the connections in place of replies to a chosen number of script calls. */
export class LossyProxy {
  /** How many replies pass before the first one is lost. */
  pass = 0;
  lose = 0;
  lost = 0;
  /** Text that a reply must have to be lost. */
  having = '';
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    port: number,
  ) {
    server.on('connection', (near) => this.join(near, connect(port, '127.0.0.1')));
  }

  static async start(port: number): Promise<LossyProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new LossyProxy(server, port);
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }

  private join(near: Socket, far: Socket): void {
    let calls = false;
    near.on('data', (bytes) => {
      calls ||= bytes.includes('EVAL');
      far.write(bytes);
    });
    far.on('data', (bytes) => {
      // A script that is not known yet did nothing; the reply to another one may stand behind.
      const isUnknown = /^-NOSCRIPT[^\r]*\r\n$/.test(bytes.toString('latin1'));
      if (!calls || this.lose === 0 || isUnknown || !bytes.includes(this.having)) return near.write(bytes);
      if (this.pass > 0) {
        this.pass -= 1;
        return near.write(bytes);
      }
      this.lose -= 1;
      this.lost += 1;
      return near.destroy();
    });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => other.destroy());
    }
  }
}
