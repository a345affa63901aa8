import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Certificates {
  readonly folder: string;
  readonly ca: string;
  /** For 127.0.0.1 and localhost. */
  readonly cert: string;
  readonly key: string;
  remove(): Promise<void>;
}

/** An authority made for a test, and a certificate of it. */
export async function certificates(): Promise<Certificates> {
  const folder = await mkdtemp(join(tmpdir(), 'jq-tls-'));
  const file = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => run('openssl', args);
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await openssl(
    'req',
    '-x509',
    ...curve,
    '-keyout',
    file('ca.key'),
    '-out',
    file('ca.pem'),
    '-subj',
    '/CN=ca',
  );
  await openssl('req', ...curve, '-keyout', file('key.pem'), '-out', file('csr.pem'), '-subj', '/CN=jq');
  await writeFile(file('names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
  const signing = [
    '-CA',
    file('ca.pem'),
    '-CAkey',
    file('ca.key'),
    '-CAcreateserial',
    '-extfile',
    file('names'),
  ];
  await openssl('x509', '-req', '-in', file('csr.pem'), ...signing, '-days', '2', '-out', file('cert.pem'));
  const read = (name: string) => readFile(file(name), 'utf8');
  return {
    folder,
    ca: await read('ca.pem'),
    cert: await read('cert.pem'),
    key: await read('key.pem'),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
