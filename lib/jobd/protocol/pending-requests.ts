import { PeerLostError, RequestError } from '../vocabulary/errors.js';
import type { ResponseMessage } from './message.js';

interface Waiting {
  readonly resolve: (data: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Our own requests on one connection that wait for their replies, by number. */
export class PendingRequests {
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
