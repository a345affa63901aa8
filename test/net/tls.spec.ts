import { describe, expect, it } from '@jest/globals';
import { ConfigurationError } from '../../lib/job/errors.js';
import { connect } from '../../lib/jobd/protocol/connect.js';
import { JobdServer } from '../../lib/jobd/protocol/server.js';
import { SILENT } from '../../lib/jobd/vocabulary/logging.js';
import { checkClientTls, checkServerTls, clientTlsOptions, serverTlsOptions } from '../../lib/net/tls.js';
import { useTls } from '../support/tls.js';

describe('TLS options', () => {
  const used = useTls();

  it('ask for client certificates if a client CA is given', () => {
    const { cert, key, ca } = used;
    expect(serverTlsOptions({ cert, key })).toEqual({ cert, key });
    expect(serverTlsOptions({ cert, key, clientCa: ca })).toEqual({
      ...{ cert, key, ca },
      requestCert: true,
      rejectUnauthorized: true,
    });
  });

  it('accept one CA or several', () => {
    expect(clientTlsOptions({ ca: 'a' })).toEqual({ ca: ['a'] });
    expect(clientTlsOptions({ ca: ['a', 'b'] })).toEqual({ ca: ['a', 'b'] });
    expect(clientTlsOptions({})).toEqual({});
  });

  it('are refused at startup if they are invalid', () => {
    const { cert, key } = used;
    expect(() => checkClientTls('callbacks', { cert })).toThrow(
      '`callbacks` has only one of `cert` and `key`',
    );
    const wrong = () => checkServerTls('tls', { cert: 'no PEM', key });
    expect(wrong).toThrow(ConfigurationError);
    expect(wrong).toThrow(
      /^The certificates of `tls` can't be used: .*Pass certificates and keys in PEM format\.$/,
    );
    expect(() => checkServerTls('tls', { cert, key })).not.toThrow();
  });

  it('make jobd serve only clients with a certificate', async () => {
    const { cert, key, ca } = used;
    const handlers = new Map([['ping', async () => 'pong']]);
    const options = { host: '127.0.0.1', port: 0, log: SILENT, handlers };
    const server = new JobdServer({ ...options, tls: { cert, key, clientCa: ca } });
    const port = await server.listen();
    const ask = async (tls: { ca: string; cert?: string; key?: string }) => {
      const connection = await connect({ host: 'localhost', port, log: SILENT, tls });
      const reply = await Promise.race([connection.request('ping'), connection.closed.then(() => 'closed')]);
      connection.end();
      return reply;
    };
    await expect(ask({ ca, cert, key })).resolves.toBe('pong');
    await expect(ask({ ca })).rejects.toThrow();
    await server.close();
  });
});
