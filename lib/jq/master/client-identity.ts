import type { IncomingMessage } from 'node:http';
import { networkOf } from '../../net/network-of.js';

const NAMES = new WeakMap<IncomingMessage, string>();

/** Which of the master's tokens a request used. */
export function setToken(request: IncomingMessage, role: string, index: number): void {
  NAMES.set(request, `${role}#${index}`);
}

/** The client whose requests are counted together: a token or, without tokens, an address. */
export function clientOf(request: IncomingMessage): string {
  return NAMES.get(request) ?? networkOf(request.socket.remoteAddress ?? '');
}
