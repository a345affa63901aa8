import { Hub } from './hub.js';
import type { Send, Watched } from './messages.js';

/** One stream for all windows of a browser: it opens six connections to a host at most, and each stream would take one. */
const hub = new Hub(typeof EventSource === 'function');

// `connect`, of a SharedWorker: a window has come.
addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent).ports;
  if (!port) return;
  const send: Send = (message) => port.postMessage(message);
  port.onmessage = ({ data }: MessageEvent<Watched>) => hub.watch(send, data);
});

setInterval(() => hub.dropSilent(), 10_000);
