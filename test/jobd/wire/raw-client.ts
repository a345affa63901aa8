import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { until } from '../../support/until.js';

export const EOT = '\x04';

/** Sends bytes as they are and keeps what comes back, a message each: what another language's client would see. */
export class RawClient {
  readonly received: string[] = [];
  private rest = '';
  private isClosed = false;
  private error?: Error;

  private constructor(readonly socket: Socket) {
    socket.setEncoding('utf8').on('data', (text: string) => {
      const parts = (this.rest + text).split(EOT);
      this.rest = parts.pop() ?? '';
      this.received.push(...parts);
    });
    socket.on('error', (error) => (this.error = error));
    socket.on('close', () => (this.isClosed = true));
  }

  static async connect(port: number, host = '127.0.0.1'): Promise<RawClient> {
    const socket = connect(port, host);
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  /** Each text as a message of its own, all in one write. */
  send(...messages: string[]): void {
    this.write(messages.map((message) => message + EOT).join(''));
  }

  write(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  request(no: number, type: string, data?: unknown): void {
    this.send(JSON.stringify([0, { no, type, data }]));
  }

  /** The first `count` messages, when they are there, and takes them away. */
  async take(count = 1): Promise<string[]> {
    await until(() => this.received.length >= count || this.isClosed, {
      message: `${count} messages didn't come, only ${JSON.stringify(this.received)}`,
    });
    return this.received.splice(0, count);
  }

  /** The next message after sending this one, whenever it comes. */
  ask(message: string): Promise<string[]> {
    this.send(message);
    return this.take();
  }

  /** What answers these messages at once: pings are answered in turn, so nothing comes after their pong. */
  async answers(...messages: string[]): Promise<string[]> {
    this.send(...messages, '[2]');
    await until(() => this.received.includes('[3]') || this.isClosed, { message: 'No pong came' });
    const pong = this.received.indexOf('[3]');
    return this.received.splice(0, pong + 1).slice(0, -1);
  }

  /** Everything that came, once the other side has closed. */
  async ended(): Promise<string[]> {
    await until(() => this.isClosed, { message: 'The connection was not closed' });
    if (this.error) throw this.error;
    return this.received;
  }

  get hasEnded(): boolean {
    return this.isClosed;
  }

  close(): void {
    this.socket.destroy();
  }
}
