import { createServer, request, type Server } from 'node:http';
import { once } from 'node:events';

/** A proxy that serves an app under a prefix, which the app never sees. */
export async function stripping(prefix: string, target: string): Promise<Server> {
  const proxy = createServer((incoming, outgoing) => {
    const { url = '', method, headers } = incoming;
    if (!url.startsWith(prefix)) return void outgoing.writeHead(404).end();
    const sent = request(target + url.slice(prefix.length), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    sent.on('error', () => outgoing.destroy());
    outgoing.on('close', () => sent.destroy());
    incoming.pipe(sent);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return proxy;
}
