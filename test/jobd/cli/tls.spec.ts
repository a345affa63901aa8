import { describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { until } from '../../support/until.js';
import { RawClient } from '../wire/raw-client.js';
import { runCli, useCli } from './cli-process.js';

/** Signed by itself, for 127.0.0.1 and localhost, until 2126. */
const pem = (name: string) => fileURLToPath(new URL(`../tls/${name}.pem`, import.meta.url));
const TLS = `tls_cert = ${pem('cert')}\ntls_key = ${pem('key')}\n`;

describe('TLS', () => {
  const cli = useCli();

  it('is for clients, daemons and masters alike, and refuses whoever it does not know', async () => {
    const master = await cli.serve('jobd-master', TLS);
    const { config } = await cli.table();
    const options = `${config}launcher = true\n`;
    await runCli('jobd', ['--config', await cli.file(`host = a\nport = 1\n${options}`), '--init']);
    const link = `master_host = 127.0.0.1\nmaster_port = ${master.port}\nmaster_reconnect_timeout = 0.1\nmaster_tls_ca = ${pem('cert')}\n`;
    const worker = await cli.serve('jobd', `${options}${link}${TLS}name = safe\n[targets]\nlow = 1\n`);
    const ask = (port: number, ...args: string[]) =>
      runCli('jobctl', ['--host', '127.0.0.1', '--port', `${port}`, ...args]);

    const trusting = ['--tls-ca', pem('cert')];
    await expect(ask(worker.port, ...trusting, 'poll', '--all')).resolves.toMatchObject({
      code: 0,
      stdout: 'ok\n',
    });
    await until(async () =>
      (await ask(master.port, ...trusting, '--master', 'list-workers')).stdout.includes('safe'),
    );

    await expect(ask(worker.port, '--tls', 'poll', '--all')).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^can't connect to .*self.signed certificate/),
    });
    const plain = await RawClient.connect(worker.port);
    plain.send('[0,{"no":1,"type":"poll"}]');
    await until(() => plain.hasEnded);
    expect(plain.received.join()).not.toContain('ok');
    await expect(ask(worker.port, ...trusting, 'poll', '--all')).resolves.toMatchObject({ code: 0 });
  });
});
