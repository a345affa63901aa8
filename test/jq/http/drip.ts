import type { IncomingMessage, ServerResponse } from 'node:http';

const EVERY_MS = 10;

/** Answers with a body that never ends, a byte at a time. */
export function drip(request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(202);
  const drops = setInterval(() => response.write('x'), EVERY_MS);
  request.socket.once('close', () => clearInterval(drops));
}
