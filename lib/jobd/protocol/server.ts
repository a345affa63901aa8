import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { checkServerTls, serverTlsOptions, type ServerTls } from '../../net/tls.js';
import { JobdConnection, type ConnectionOptions } from './connection.js';

export interface ServerOptions extends Omit<ConnectionOptions, 'password'> {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** @default plain TCP */
  readonly tls?: ServerTls;
  /** Further ones are closed at once. @default 10_000 */
  readonly maxConnections?: number;
}

const MAX_CONNECTIONS = 10_000;
/** Connections that have not shown their password yet; above this the oldest is closed. */
const MAX_UNAUTHORIZED = 1000;

/** Accepts connections and answers their requests. It only sends replies. */
export class JobdServer {
  private readonly server: Server;
  private readonly open = new Set<JobdConnection>();
  private readonly unauthorized = new Set<JobdConnection>();

  /** @throws ConfigurationError for certificates that can't be used */
  constructor(private readonly options: ServerOptions) {
    if (options.tls) checkServerTls('tls', options.tls);
    this.server = options.tls ? createTlsServer(serverTlsOptions(options.tls)) : createServer();
    this.server.maxConnections = options.maxConnections ?? MAX_CONNECTIONS;
    this.server.on(options.tls ? 'secureConnection' : 'connection', (socket) => {
      const connection = new JobdConnection(socket, options);
      this.open.add(connection);
      if (!connection.isAuthorized) this.admit(connection);
      options.log.debug(`${connection.address} connected`);
      void connection.closed.then((reason) => {
        this.open.delete(connection);
        this.unauthorized.delete(connection);
        options.log.debug(`${connection.address} left: ${reason}`);
      });
    });
    this.server.on('tlsClientError', (error: Error) =>
      options.log.warn(`no TLS connection: ${error.message}`),
    );
    this.server.on('drop', () => options.log.warn('too many connections: one was refused'));
  }

  private admit(connection: JobdConnection): void {
    this.unauthorized.add(connection);
    for (const one of this.unauthorized) {
      if (this.unauthorized.size <= MAX_UNAUTHORIZED) return;
      this.unauthorized.delete(one);
      if (!one.isAuthorized) one.destroy('too many connections without a password');
    }
  }

  /** Listens, and returns the port. @throws Node's error if that fails, such as EADDRINUSE */
  async listen(): Promise<number> {
    const { host, port, log } = this.options;
    this.server.listen(port, host);
    await once(this.server, 'listening');
    // A failed accept, for instance without file descriptors, does not end the server.
    this.server.on('error', (error) => log.error(`can't accept a connection: ${error.message}`));
    const bound = (this.server.address() as AddressInfo).port;
    log.info(`listening on ${host}:${bound}`);
    return bound;
  }

  get connections(): number {
    return this.open.size;
  }

  /** Accepts no new connections. Open ones continue. */
  stopListening(): void {
    this.server.close();
  }

  /** Closes all connections. Replies that were written are still sent. */
  async close(): Promise<void> {
    this.stopListening();
    // Handlers that have just finished can write their replies.
    await setImmediate();
    for (const connection of this.open) connection.end();
    await Promise.all([...this.open].map(({ closed }) => closed));
  }
}
