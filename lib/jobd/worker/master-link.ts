import { messageOf } from '../../job/errors.js';
import { withDeadline } from '../../job/clock.js';
import { PeerLostError, RequestError } from '../vocabulary/errors.js';
import type { JobdLog } from '../vocabulary/log.js';
import { connect } from '../protocol/connect.js';
import type { ClientTls } from '../../net/tls.js';
import type { JobdConnection } from '../protocol/connection.js';
import { Heartbeat } from '../protocol/heartbeat.js';
import type { RequestHandlers } from '../protocol/request-handlers.js';

export interface MasterLinkOptions {
  readonly host: string;
  readonly port: number;
  /** This worker's name in the master's list. */
  readonly name: string;
  /** Sent with the registration. */
  readonly password?: string;
  readonly tls?: ClientTls;
  /** Milliseconds between a failure or closing and the next attempt. */
  readonly reconnectTimeout: number;
  /** Milliseconds between pings. If the master doesn't reply, the connection is closed. */
  readonly pingInterval: number;
  readonly handlers: RequestHandlers;
  /** The targets to register, read for each registration. */
  readonly targets: () => readonly string[];
  /** Called when the master has accepted a registration: earlier pokes may have been lost. */
  readonly onRegistered: () => void;
  readonly log: JobdLog;
}

const REGISTER_TIMEOUT_MS = 10_000;

/** Keeps a worker registered with its master, over the connection that carries the master's requests. */
export class MasterLink {
  private connection?: JobdConnection;
  private wake: () => void = () => undefined;
  private running: Promise<void> = Promise.resolve();
  private readonly stopping = new AbortController();
  private registered = false;
  private isRegistering = false;
  private isUpToDate = false;
  private isRenewing = false;

  constructor(private readonly options: MasterLinkOptions) {}

  get isRegistered(): boolean {
    return this.registered;
  }

  start(): void {
    this.running = this.keep();
  }

  /** Sends the master the present targets. Masters refuse a worker without targets: it disconnects until it has one. */
  update(): void {
    const { connection } = this;
    this.isUpToDate = false;
    if (!connection) this.wake();
    else if (this.options.targets().length === 0) connection.end();
    else if (!this.isRegistering) void this.announce(connection).catch(() => undefined);
  }

  /** Uses a new connection: an original master treats a second registration on the same one as another worker. */
  private renew(connection: JobdConnection): void {
    this.isRenewing = true;
    connection.end();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.wake();
    this.connection?.end();
    await this.running;
  }

  private get isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  private async keep(): Promise<void> {
    const { log, host, port, reconnectTimeout } = this.options;
    while (!this.isStopping) {
      if (this.options.targets().length === 0) {
        await this.pause();
        continue;
      }
      const reason = await this.serveOnce().catch(messageOf);
      this.connection = undefined;
      this.registered = false;
      if (this.isStopping) return;
      if (this.isRenewing) {
        this.isRenewing = false;
        continue;
      }
      log.warn(
        `no link to the master ${host}:${port}: ${reason}; trying again in ${reconnectTimeout / 1000} s`,
      );
      await this.pause(reconnectTimeout);
    }
  }

  /** Makes one connection. Resolves when it has ended, with the reason. */
  private async serveOnce(): Promise<string> {
    const connection = await connect({ ...this.options, signal: this.stopping.signal });
    this.connection = connection;
    const heartbeat = new Heartbeat(connection, this.options.pingInterval);
    try {
      await this.announce(connection);
      return await connection.closed;
    } finally {
      heartbeat.stop();
    }
  }

  private async announce(connection: JobdConnection): Promise<void> {
    this.isRegistering = true;
    try {
      await this.register(connection);
    } catch (error) {
      connection.destroy(messageOf(error));
      throw error;
    } finally {
      this.isRegistering = false;
    }
  }

  /** Until the master has the present targets: they may change before it answers. */
  private async register(connection: JobdConnection): Promise<void> {
    const { name, targets, log, onRegistered } = this.options;
    this.isUpToDate = false;
    for (let names = targets(); !this.isUpToDate && names.length > 0; names = targets()) {
      if (this.registered && !connection.isServing) return this.renew(connection);
      this.isUpToDate = true;
      await this.ask(connection, { targets: names, name });
      this.registered = true;
      log.info(`registered with the master ${connection.address} for ${names.length} targets`);
    }
    onRegistered();
  }

  private async ask(connection: JobdConnection, registration: object): Promise<void> {
    const reply = connection.request('register-worker', registration);
    const late = () => new PeerLostError('the master did not answer the registration');
    try {
      await withDeadline(reply, REGISTER_TIMEOUT_MS, late);
    } catch (error) {
      if (error instanceof RequestError) throw new RequestError(`registration refused: ${error.message}`);
      throw error;
    }
  }

  /** Until `wake`, or for `ms` milliseconds. */
  private pause(ms?: number): Promise<void> {
    return new Promise((resolve) => {
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = ms === undefined ? undefined : setTimeout(this.wake, ms);
    });
  }
}
