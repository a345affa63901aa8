import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../support/until.js';
import { EOT, RawClient } from './raw-client.js';

/** A message as it lies on the wire, decoded. */
type WireMessage = [type: number, body?: { no: number; type?: string; data?: unknown; error?: string }];

/**
 * A worker that behaves as the original does: it has no ear for requests until it has handled the `ok` of its
 * registration, and it says pong.
 */
export class OriginalWorker {
  /** Requests it heard, by type and data. */
  readonly heard: { type: string; data: unknown }[] = [];
  /** Requests that came before it listened: the original loses them. */
  readonly missed: string[] = [];
  pings = 0;
  isMute = false;
  private isListening = false;
  private seen = 0;

  private constructor(
    readonly wire: RawClient,
    private readonly answer: (type: string, data: unknown) => unknown,
  ) {}

  /** Resolves when it listens. */
  static async register(
    port: number,
    name: string,
    targets: readonly string[],
    answer: (type: string, data: unknown) => unknown = () => 'ok',
  ): Promise<OriginalWorker> {
    const worker = new OriginalWorker(await RawClient.connect(port), answer);
    worker.wire.socket.on('data', () => worker.read());
    worker.wire.send(JSON.stringify([0, { no: 1, type: 'register-worker', data: { targets, name } }]));
    await until(() => worker.isListening && worker.wire.received.includes('[1,{"no":1,"data":"ok"}]'), {
      message: `The worker ${name} is not registered`,
    });
    return worker;
  }

  close(): void {
    this.wire.close();
  }

  private read(): void {
    if (this.isMute) return;
    for (const text of this.wire.received.slice(this.seen))
      this.handle(JSON.parse(text) as WireMessage, text);
    this.seen = this.wire.received.length;
  }

  private handle([kind, body]: WireMessage, text: string): void {
    if (kind === 2) {
      this.pings++;
      this.wire.send('[3]');
    } else if (kind === 1) {
      // The handler is attached some turns of its event loop later.
      void delay(10).then(() => (this.isListening = true));
    } else if (!this.isListening) this.missed.push(text);
    else void this.reply(body?.no ?? 0, body?.type ?? '', body?.data);
  }

  private async reply(no: number, type: string, data: unknown): Promise<void> {
    this.heard.push({ type, data });
    try {
      this.wire.send(JSON.stringify([1, { no, data: await this.answer(type, data) }]));
    } catch (error) {
      this.wire.send(JSON.stringify([1, { no, error: (error as Error).message }]));
    }
  }
}

/** A master that behaves as the original does: a remembered poll goes out before the `ok` of a registration. */
export class OriginalMaster {
  /** Everything received, as it came. */
  readonly received: string[] = [];
  readonly sockets: Socket[] = [];
  pollBeforeOk = false;
  /** What registrations are answered; `undefined` for nothing, and the link is dropped. */
  registration: object | undefined = { data: 'ok' };
  /** Called before a registration is answered. */
  beforeAnswer: () => void = () => undefined;
  private readonly server: Server;

  constructor() {
    this.server = createServer((socket) => {
      this.sockets.push(socket);
      let rest = '';
      socket.on('error', () => undefined);
      socket.setEncoding('utf8').on('data', (text: string) => {
        const parts = (rest + text).split(EOT);
        rest = parts.pop() ?? '';
        for (const part of parts) this.handle(part, socket);
      });
    });
  }

  async listen(port = 0): Promise<number> {
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    return (this.server.address() as AddressInfo).port;
  }

  send(message: unknown): void {
    this.sockets.at(-1)?.write(JSON.stringify(message) + EOT);
  }

  registrations(): { data: { targets: string[]; name: string }; password?: string }[] {
    return this.received
      .map((text) => JSON.parse(text) as WireMessage)
      .flatMap(([, body]) => (body?.type === 'register-worker' ? [body as never] : []));
  }

  dropAll(): void {
    for (const socket of this.sockets.splice(0)) socket.destroy();
  }

  async close(): Promise<void> {
    this.dropAll();
    this.server.close();
    await once(this.server, 'close');
  }

  private handle(text: string, socket: Socket): void {
    this.received.push(text);
    const [kind, body] = JSON.parse(text) as WireMessage;
    if (kind === 2) socket.write(`[3]${EOT}`);
    if (body?.type !== 'register-worker') return;
    this.beforeAnswer();
    if (this.registration === undefined) {
      socket.destroy();
      return;
    }
    const poll = this.pollBeforeOk
      ? `${JSON.stringify([0, { no: 77, type: 'poll', data: { targets: ['low'] } }])}${EOT}`
      : '';
    socket.write(`${poll}${JSON.stringify([1, { no: body.no, ...this.registration }])}${EOT}`);
  }
}
