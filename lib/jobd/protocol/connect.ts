import { once } from 'node:events';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { clientTlsOptions, type ClientTls } from '../../net/tls.js';
import { messageOf } from '../../job/errors.js';
import { PeerLostError } from '../vocabulary/errors.js';
import { JobdConnection, type ConnectionOptions } from './connection.js';

export interface ConnectOptions extends ConnectionOptions {
  readonly host: string;
  readonly port: number;
  /** @default plain TCP */
  readonly tls?: ClientTls;
  /** Aborts the attempt. */
  readonly signal?: AbortSignal;
}

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Connects to a daemon or master. Requests of the server are answered from its first byte on.
 *
 * @throws PeerLostError
 */
export async function connect(options: ConnectOptions): Promise<JobdConnection> {
  const { host, port, tls } = options;
  const socket = tls
    ? connectTls({ ...clientTlsOptions(tls), host, port, servername: isIP(host) ? '' : host })
    : connectTcp({ host, port });
  const timeout = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
  const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
  try {
    await once(socket, tls ? 'secureConnect' : 'connect', { signal });
  } catch (error) {
    forget(socket);
    const why = (error as Error).name === 'AbortError' ? 'no answer' : messageOf(error);
    throw new PeerLostError(`can't connect to ${host}:${port}: ${why}`, { cause: error });
  }
  const connection = new JobdConnection(socket, options);
  connection.trust();
  return connection;
}

function forget(socket: Socket): void {
  socket.on('error', () => undefined);
  socket.destroy();
}
