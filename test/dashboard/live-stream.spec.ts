import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LiveStream } from '../../lib/dashboard/live-stream.js';

const MEGABYTE = 'x'.repeat(1024 * 1024);

describe('a stream whose page does not read', () => {
  const server = createServer();
  afterEach(() => void server.close());

  /** A response to a page that has asked, and reads nothing. */
  async function unread(): Promise<ServerResponse> {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const page = connect((server.address() as AddressInfo).port, '127.0.0.1');
    page.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
    const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
    return response;
  }

  it('closes although the rest can not be sent', async () => {
    const response = await unread();
    const user = { name: 'ada', view: true, act: false };
    const stream = new LiveStream(user, { overviews: [], jobs: [], bulks: [] }, response);
    do {
      stream.send('trouble', { i: 'default', error: MEGABYTE });
      await nextTurn();
    } while (response.writableLength === 0);
    expect(response.destroyed).toBe(false);
    const closed = once(response, 'close');
    stream.end('the server is closing');
    await closed;
    expect(response.destroyed).toBe(true);
  });

  it('closes when it is too far behind', async () => {
    const response = await unread();
    const user = { name: 'ada', view: true, act: false };
    const stream = new LiveStream(user, { overviews: [], jobs: [], bulks: [] }, response);
    for (let sent = 0; sent < 50 && !response.destroyed; sent++) {
      stream.send('trouble', { i: 'default', error: MEGABYTE });
      await nextTurn();
    }
    const isClosed = response.destroyed;
    response.destroy();
    expect(isClosed).toBe(true);
  });
});
