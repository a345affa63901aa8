import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** The one of these ports that `fetch` refuses, as all browsers do: it is that of another protocol. */
const REFUSED = 10_080;

/**
 * A port of 127.0.0.1 that nothing listens on. It lies below every system's ephemeral range: a client that
 * reconnects to a stopped server on an ephemeral port may be given that very port, and so reach itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    if (port !== REFUSED && (await isFree(port))) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
