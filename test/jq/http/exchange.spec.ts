import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, buildConnector } from 'undici';
import { exchange } from '../../../lib/jq/http/exchange.js';
import { gate } from '../../support/gate.js';
import { holdEventLoop } from '../../support/hold-event-loop.js';
import { eventually, until } from '../../support/until.js';
import { drip } from './drip.js';

const TIMEOUT_MS = 200;

describe('an exchange whose time is over', () => {
  let server: Server;
  let origin: string;
  const requests: IncomingMessage[] = [];
  const agents: Agent[] = [];

  beforeEach(async () => {
    requests.length = 0;
    // Takes everything, and answers nothing.
    server = createServer((request) => requests.push(request));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(async () => {
    await Promise.all(agents.splice(0).map((agent) => agent.destroy()));
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const ask = (connect: buildConnector.connector = buildConnector({}), timeout = TIMEOUT_MS) => {
    const agent = new Agent({ connect });
    agents.push(agent);
    return exchange(agent, { origin, path: '/', method: 'POST', body: 'x', headOnly: true, timeout });
  };

  it('says that it was sent, once it has had a connection', async () => {
    await expect(ask()).rejects.toMatchObject({ code: 'EXCHANGE_TIMEOUT', wasSent: true });
    await eventually(() => expect(requests).toHaveLength(1));
    await until(() => requests[0]?.destroyed);
  });

  it('says that it was not sent while it had none, and is not sent later', async () => {
    const may = gate();
    const connected = gate();
    const connect = buildConnector({});
    const reply = ask((options, callback) => {
      void may.passed.then(() =>
        connect(options, (...result: Parameters<buildConnector.Callback>) => {
          callback(...result);
          connected.open();
        }),
      );
    });
    await expect(reply).rejects.toMatchObject({ code: 'EXCHANGE_TIMEOUT', wasSent: false });
    may.open();
    await connected.passed;
    await expect(ask()).rejects.toMatchObject({ wasSent: true });
    expect(requests).toHaveLength(1);
  });

  it('is not sent on a connection that comes late because the process was busy, before any timer', async () => {
    const connect = buildConnector({});
    const late: buildConnector.connector = (options, callback) =>
      connect(options, (...result: Parameters<buildConnector.Callback>) => {
        holdEventLoop(TIMEOUT_MS);
        callback(...result);
      });
    await expect(ask(late)).rejects.toMatchObject({ code: 'EXCHANGE_TIMEOUT', wasSent: false });
    await expect(ask()).rejects.toMatchObject({ wasSent: true });
    expect(requests).toHaveLength(1);
  });

  it('is cut off after the head that has been enough', async () => {
    server.on('request', drip);
    await expect(ask()).resolves.toMatchObject({ status: 202 });
    await until(() => requests[0]?.destroyed);
  });

  it('has one time for connecting and for the answer', async () => {
    const connect = buildConnector({});
    const slow: buildConnector.connector = (options, callback) => {
      setTimeout(() => connect(options, callback), TIMEOUT_MS * 0.7);
    };
    const reply = ask(slow).catch((error: unknown) => error);
    // Timers of one process keep their order, however slow the machine.
    const late = delay(TIMEOUT_MS * 1.5, 'late');
    await expect(Promise.race([reply, late])).resolves.toMatchObject({ code: 'EXCHANGE_TIMEOUT' });
  });

  describe('whose reply has a time for each 64 KiB', () => {
    const read = (bodyTimeout: number) => {
      const agent = new Agent();
      agents.push(agent);
      return exchange(agent, { origin, path: '/', method: 'GET', bodyTimeout });
    };

    it('is given up when its body drips', async () => {
      server.on('request', drip);
      await expect(read(TIMEOUT_MS)).rejects.toThrow();
    });

    it('is not when its body is long, and takes long', async () => {
      const part = Buffer.alloc(1024 * 1024);
      const parts = 10;
      const write = (response: ServerResponse, left: number) => {
        if (left === 0) return response.end();
        return response.write(part, () => {
          holdEventLoop(TIMEOUT_MS);
          write(response, left - 1);
        });
      };
      server.on('request', (_, response: ServerResponse) => write(response, parts));
      const { body } = await read(TIMEOUT_MS * 5);
      expect(body).toHaveLength(parts * part.length);
    });
  });
});
