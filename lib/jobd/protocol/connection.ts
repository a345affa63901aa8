import type { Socket } from 'node:net';
import { messageOf } from '../../job/errors.js';
import { PeerLostError, RequestError } from '../vocabulary/errors.js';
import { FrameReader, TOO_LARGE, type Frame } from './frame-reader.js';
import { IncomingRequests, type IncomingOptions } from './incoming-requests.js';
import * as wire from './message.js';
import type { ResponseMessage } from './message.js';
import type { Peer } from './peer.js';
import { randomInt } from 'node:crypto';

export interface ConnectionOptions extends IncomingOptions {
  /** Sent with our own first request. */
  readonly password?: string;
}

const MEBIBYTE = 1024 * 1024;
/** Bytes of the largest message accepted: before a password was shown, from clients, from daemons. */
const MESSAGE_LIMIT = {
  unauthorized: MEBIBYTE / 16,
  client: 16 * MEBIBYTE,
  daemon: 256 * MEBIBYTE,
} as const;

/** How long a peer that has shown no password may take to complete a message. */
const UNAUTHORIZED_MS = 10_000;
/** How long a peer may take to read our last reply and close its side. */
const LINGER_MS = 5000;
const KEEP_ALIVE_MS = 30_000;
/** The first byte of a TLS connection. */
const TLS = 0x16;

/** One end of a connection, of a server or a client: both may send requests. */
export class JobdConnection implements Peer {
  readonly closed: Promise<string>;
  // Kept, since a socket forgets them when it closes.
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  private readonly frames: FrameReader;
  private readonly incoming: IncomingRequests;
  private readonly pending = new PendingRequests();
  private readonly numbers = new RequestNumbers();
  private held: readonly Frame[] = [];
  private heldBytes = 0;
  private hurry: NodeJS.Timeout | undefined;
  private deciding = false;
  private ended = false;
  private isDaemon = false;
  private hasComplained = false;
  private hasBegun = false;
  private password?: string;
  private heard = performance.now();
  private reason = 'connection closed by the peer';

  constructor(
    private readonly socket: Socket,
    private readonly options: ConnectionOptions,
  ) {
    this.remoteAddress = socket.remoteAddress;
    this.remotePort = socket.remotePort;
    this.password = options.password;
    this.incoming = new IncomingRequests(this, options);
    this.frames = new FrameReader(
      this.incoming.isAuthorized ? MESSAGE_LIMIT.client : MESSAGE_LIMIT.unauthorized,
    );
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    socket.on('data', (chunk) => this.receive(chunk));
    socket.on('drain', () => this.resume());
    socket.on('error', (error) => (this.reason = messageOf(error)));
    this.closed = new Promise((resolve) => socket.once('close', () => resolve(this.lose())));
  }

  get address(): string {
    return `${this.remoteAddress ?? 'unknown'}:${this.remotePort ?? 0}`;
  }

  get hasEnded(): boolean {
    return this.ended || this.socket.destroyed;
  }

  /** Whether it may ask: it has shown the password, or needs none. */
  get isAuthorized(): boolean {
    return this.incoming.isAuthorized;
  }

  /** Whether the peer waits for answers. */
  get isServing(): boolean {
    return this.incoming.isServing;
  }

  get heardAt(): number {
    return this.heard;
  }

  trust(): void {
    this.isDaemon = true;
    this.frames.limit = MESSAGE_LIMIT.daemon;
    this.resume();
  }

  request(type: string, data?: unknown): Promise<unknown> {
    if (this.ended) return Promise.reject(new PeerLostError(this.reason));
    let no = this.numbers.next();
    while (this.pending.has(no)) no = this.numbers.next();
    const { password } = this;
    this.password = undefined;
    const reply = this.pending.add(no);
    this.options.log.debug(`request ${no} ${type} to ${this.address}`);
    this.write(wire.requestFrame(no, type, data, password));
    return reply;
  }

  ping(): void {
    this.write(wire.PING_FRAME);
  }

  /** Stops reading from a client that doesn't read its replies, so that they don't pile up here. */
  write(frame: string): void {
    if (this.ended) return;
    const isFull = !this.socket.write(frame);
    if (isFull && this.options.handlers && !this.isDaemon) this.socket.pause();
  }

  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.reason = 'connection closed';
    this.socket.end();
    // If it were closed at once with unread bytes, the last reply would be lost.
    const timer = setTimeout(() => this.socket.destroy(), LINGER_MS);
    this.socket.once('close', () => clearTimeout(timer)).resume();
  }

  destroy(reason: string): void {
    if (!this.ended) this.reason = reason;
    this.ended = true;
    this.socket.destroy();
  }

  private receive(chunk: Buffer): void {
    this.heard = performance.now();
    if (this.ended || this.refusesProtocol(chunk)) return;
    const frames = this.frames.read(chunk);
    if (this.deciding) this.keep(frames, chunk.length);
    else this.process(frames);
    if (!this.isAuthorized || this.hurry) this.hurryUnauthorized();
  }

  /**
   * A web page can have its browser send a request here, whose body may be messages. It is trusted by where it comes from, so
   * nothing of it is read, also if what stands before its body is longer than a message may be.
   */
  private refusesProtocol(chunk: Buffer): boolean {
    const isFirst = !this.hasBegun;
    this.hasBegun = true;
    if (!isFirst || !isOtherProtocol(chunk)) return false;
    this.complain('HTTP or TLS in place of messages');
    this.destroy('the peer sent HTTP or TLS in place of messages');
    return true;
  }

  /** While the password is being checked: reading on, up to a limit, shows when the peer leaves. */
  private keep(frames: readonly Frame[], bytes: number): void {
    this.held = [...this.held, ...frames];
    this.heldBytes += bytes;
    if (this.heldBytes > MESSAGE_LIMIT.unauthorized) this.socket.pause();
  }

  /** Limits how long a client without a password may use memory. */
  private hurryUnauthorized(): void {
    if (!this.isAuthorized && this.frames.isMidway) {
      const late = () =>
        this.destroy(`no end of a message within ${UNAUTHORIZED_MS / 1000} s, before any password`);
      this.hurry ??= setTimeout(late, UNAUTHORIZED_MS).unref();
    } else {
      clearTimeout(this.hurry);
      this.hurry = undefined;
    }
  }

  private process(frames: readonly Frame[]): void {
    for (const [index, frame] of frames.entries()) {
      if (this.ended) return;
      const decision = this.handle(frame);
      if (decision) return this.holdUntil(decision, frames.slice(index + 1));
    }
  }

  private handle(frame: Frame): void | Promise<void> {
    if (frame === TOO_LARGE) return this.refuseSize();
    let message: wire.Message | undefined;
    try {
      message = wire.parseMessage(frame);
    } catch (error) {
      this.complain('malformed message');
      return this.write(wire.errorFrame(wire.NO_NUMBER, messageOf(error)));
    }
    if (!message) this.complain(`${frame.length} characters that are not JSON`);
    else if (message.kind === 'ping') this.write(wire.PONG_FRAME);
    else if (message.kind === 'request') return this.take(message);
    else if (message.kind === 'response' && !this.pending.settle(message)) {
      this.options.log.debug(`response ${message.no} from ${this.address} has no pending request`);
    }
  }

  private take(message: wire.RequestMessage): void | Promise<void> {
    const decision = this.incoming.take(message);
    if (this.incoming.isAuthorized) this.frames.limit = Math.max(this.frames.limit, MESSAGE_LIMIT.client);
    return decision;
  }

  /** Messages after a first request wait until that one is allowed. */
  private holdUntil(decision: Promise<void>, frames: readonly Frame[]): void {
    this.deciding = true;
    this.held = frames;
    this.heldBytes = 0;
    void decision.then(() => {
      const { held } = this;
      this.deciding = false;
      this.held = [];
      this.process(held);
      this.resume();
    });
  }

  /** The request of a reply that is too large is unknown, so the connection is closed, which fails all pending requests. */
  private refuseSize(): void {
    const error = `message is too large, more than ${this.frames.limit} bytes`;
    this.complain(error);
    if (this.isDaemon) this.destroy(error);
    else this.write(wire.errorFrame(wire.NO_NUMBER, error));
  }

  /** Logged once per connection, since a client may send any amount of invalid data. */
  private complain(what: string): void {
    this.options.log[this.hasComplained ? 'debug' : 'warn'](`${what}, from ${this.address}`);
    this.hasComplained = true;
  }

  private resume(): void {
    if (!this.deciding) this.socket.resume();
  }

  private lose(): string {
    this.ended = true;
    clearTimeout(this.hurry);
    this.held = [];
    this.pending.failAll(this.reason);
    return this.reason;
  }
}

/** No message begins with a capital letter, as HTTP does, nor as TLS does. */
function isOtherProtocol([first = 0]: Buffer): boolean {
  return first === TLS || (first >= 'A'.charCodeAt(0) && first <= 'Z'.charCodeAt(0));
}

interface Waiting {
  readonly resolve: (data: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Our own requests on one connection that wait for their replies, by number. */
class PendingRequests {
  private readonly waiting = new Map<number, Waiting>();

  get size(): number {
    return this.waiting.size;
  }

  has(no: number): boolean {
    return this.waiting.has(no);
  }

  /** @throws RequestError for the peer's `error`, PeerLostError when the connection ends first */
  add(no: number): Promise<unknown> {
    return new Promise((resolve, reject) => this.waiting.set(no, { resolve, reject }));
  }

  /** False for a reply without a pending request. */
  settle({ no, data, error }: ResponseMessage): boolean {
    const request = this.waiting.get(no);
    if (!request) return false;
    this.waiting.delete(no);
    if (error === undefined) request.resolve(data);
    else request.reject(new RequestError(error));
    return true;
  }

  failAll(reason: string): void {
    const error = new PeerLostError(reason);
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }
}

/** 0 is reserved. */
const FIRST = 1;

const LAST = 999_998;

/** The numbers of our own requests on one connection: they start at random and wrap around. */
export class RequestNumbers {
  constructor(private following = randomInt(FIRST, LAST + 1)) {}

  next(): number {
    const number = this.following;
    this.following = number === LAST ? FIRST : number + 1;
    return number;
  }
}
