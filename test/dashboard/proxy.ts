import { createServer, request, type Server } from 'node:http';
import { once } from 'node:events';
import { connect, createServer as createTcpServer, type Server as TcpServer } from 'node:net';

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

/** A proxy that says nothing of itself, as nginx does with nothing but `proxy_pass`: HTTP/1.0, and the name of what it asks. */
export async function plain(target: string): Promise<TcpServer> {
  const { host, hostname, port } = new URL(target);
  const proxy = createTcpServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
    client.once('data', (head: Buffer) => {
      const asked = head
        .toString('latin1')
        .replace(' HTTP/1.1\r\n', ' HTTP/1.0\r\n')
        .replace(/^host: .*$/im, `Host: ${host}`)
        .replace(/^connection: .*$/im, 'Connection: close');
      upstream.write(asked, 'latin1');
      client.pipe(upstream);
      upstream.pipe(client);
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return proxy;
}
