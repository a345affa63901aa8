import { isPromise } from 'node:util/types';
import { messageOf } from '../../job/errors.js';
import type { JobdLog } from '../vocabulary/log.js';
import type { Authenticate } from './authentication.js';
import { display } from './display.js';
import { errorFrame, replyFrame, type RequestMessage } from './message.js';
import type { Peer } from './peer.js';
import { toArguments, type RequestHandlers } from './request-handlers.js';

export interface IncomingOptions {
  readonly log: JobdLog;
  /** Handlers for the peer's requests. @default none */
  readonly handlers?: RequestHandlers;
  /** Checks the peer's first request. @default every request is allowed */
  readonly authenticate?: Authenticate;
  /** Called with the type of each request that is handled. */
  readonly onRequest?: (type: string) => void;
}

/** The peer's requests on one connection: whether they are allowed, and how they are answered. */
export class IncomingRequests {
  private authorized: boolean;
  /** Answers that are still to come. */
  private readonly serving = new Set<Promise<unknown>>();

  constructor(
    private readonly connection: Peer,
    private readonly options: IncomingOptions,
  ) {
    this.authorized = !options.authenticate;
  }

  get isAuthorized(): boolean {
    return this.authorized;
  }

  /** Whether it waits for replies. */
  get isServing(): boolean {
    return this.serving.size > 0;
  }

  /** A promise while the password is being checked: no request may be handled meanwhile. */
  take(message: RequestMessage): void | Promise<void> {
    const { authenticate } = this.options;
    if (this.authorized || !authenticate) return this.serve(message);
    const isGone = () => this.connection.hasEnded;
    const verdict = authenticate(message.password, this.connection.remoteAddress, isGone);
    if (typeof verdict === 'boolean') return this.decide(message, verdict);
    return verdict.catch(() => false).then((allowed) => this.decide(message, allowed));
  }

  private decide(message: RequestMessage, allowed: boolean): void {
    this.authorized = allowed;
    if (allowed) return this.serve(message);
    this.options.log.warn(`invalid password from ${this.connection.address}`);
    this.connection.write(errorFrame(message.no, 'invalid password'));
    this.connection.end();
  }

  /** Replies go out as handlers finish; a handler that answers at once is answered in this tick. */
  private serve({ no, type, data }: RequestMessage): void {
    const fail = (error: unknown) => this.refuse(no, type, messageOf(error));
    const handler = this.options.handlers?.get(type);
    if (!handler) return fail(`unknown request type: '${display(type)}'`);
    this.options.log.debug(`request ${no} ${type} from ${this.connection.address}`);
    this.options.onRequest?.(type);
    try {
      const answer = handler(toArguments(data), this.connection);
      if (!isPromise(answer)) return this.connection.write(replyFrame(no, answer));
      this.serving.add(answer);
      void (answer as Promise<unknown>)
        .then((value: unknown) => this.connection.write(replyFrame(no, value)))
        .catch(fail)
        .finally(() => this.serving.delete(answer));
    } catch (error) {
      fail(error);
    }
  }

  private refuse(no: number, type: string, error: string): void {
    this.options.log.warn(`request ${no} ${display(type)} from ${this.connection.address} failed: ${error}`);
    this.connection.write(errorFrame(no, error));
  }
}
