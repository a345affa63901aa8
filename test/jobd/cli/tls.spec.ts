import { describe, expect, it } from '@jest/globals';
import { useTls } from '../../support/tls.js';
import { eventually, until } from '../../support/until.js';
import { RawClient } from '../wire/raw-client.js';
import { runCli, useCli } from './cli-process.js';

describe('TLS', () => {
  const cli = useCli();
  const tls = useTls();

  it('is for clients, daemons and masters alike, and refuses unknown certificates', async () => {
    const secure = `tls_cert = ${tls.files.cert}\ntls_key = ${tls.files.key}\n`;
    const ca = tls.authority.file;
    const master = await cli.serve('jobd-master', secure);
    const { config } = await cli.table();
    const options = `${config}launcher = true\n`;
    await runCli('jobd', ['--config', await cli.file(`host = a\nport = 1\n${options}`), '--init']);
    const link = `master_host = 127.0.0.1\nmaster_port = ${master.port}\nmaster_reconnect_timeout = 0.1\nmaster_tls_ca = ${ca}\n`;
    const worker = await cli.serve('jobd', `${options}${link}${secure}name = safe\n[targets]\nlow = 1\n`);
    const ask = (port: number, ...args: string[]) =>
      runCli('jobctl', ['--host', '127.0.0.1', '--port', `${port}`, ...args]);

    const trusting = ['--tls-ca', ca];
    await expect(ask(worker.port, ...trusting, 'poll', '--all')).resolves.toMatchObject({
      code: 0,
      stdout: 'ok\n',
    });
    await eventually(async () =>
      expect((await ask(master.port, ...trusting, '--master', 'list-workers')).stdout).toContain('safe'),
    );

    await expect(ask(worker.port, '--tls', 'poll', '--all')).resolves.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^can't connect to .*unable to verify the first certificate/),
    });
    const plain = await RawClient.connect(worker.port);
    plain.send('[0,{"no":1,"type":"poll"}]');
    await until(() => plain.hasEnded);
    expect(plain.received.join()).not.toContain('ok');
    await expect(ask(worker.port, ...trusting, 'poll', '--all')).resolves.toMatchObject({ code: 0 });
  });
});
