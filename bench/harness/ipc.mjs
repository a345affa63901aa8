/** The task of a child process: JSON in its first argument. */
export function readTask() {
  return JSON.parse(process.argv[2] ?? 'null');
}

/**
 * Sends a message to the process that forked this one.
 *
 * @param {unknown} message
 * @param {() => void} [sent]
 */
export function report(message, sent = () => undefined) {
  if (!process.send) throw new Error('This program is forked by the benchmark.');
  process.send(message, undefined, undefined, sent);
}

/**
 * The port that a server listens on.
 *
 * @param {import('node:net').Server} server
 */
export function portOf(server) {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('Expected a server that listens on a port.');
  return address.port;
}
