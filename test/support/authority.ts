import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from './test-process.js';

const openssl = (...args: readonly string[]) => runProgram('openssl', args);
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const LOCAL = 'IP:127.0.0.1,DNS:localhost';

/** A certificate and its key as PEM, and where they lie. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
  readonly files: { readonly cert: string; readonly key: string };
}

/** An authority made for a test, which no system trusts. */
export class Authority {
  private issued = 0;

  private constructor(
    private readonly folder: string,
    /** Its certificate as PEM. */
    readonly ca: string,
  ) {}

  static async create(): Promise<Authority> {
    const folder = await mkdtemp(join(tmpdir(), 'gearmonkey-tls-'));
    const [key, ca] = [join(folder, 'ca.key'), join(folder, 'ca.pem')];
    await openssl('req', '-x509', ...NEW_KEY, '-keyout', key, '-out', ca, '-subj', '/CN=ca');
    return new Authority(folder, await readFile(ca, 'utf8'));
  }

  /** Where its certificate lies. */
  get file(): string {
    return join(this.folder, 'ca.pem');
  }

  /** @param names whom the certificate is for, as openssl writes a subjectAltName. @default 127.0.0.1 and localhost */
  async issue(names = LOCAL): Promise<Identity> {
    const base = join(this.folder, `${++this.issued}`);
    const files = { cert: `${base}.pem`, key: `${base}.key` };
    const [request, extensions] = [`${base}.csr`, `${base}.ext`];
    await openssl('req', ...NEW_KEY, '-keyout', files.key, '-out', request, '-subj', '/CN=test');
    await writeFile(extensions, `subjectAltName=${names}\n`);
    const signing = ['-CA', this.file, '-CAkey', join(this.folder, 'ca.key'), '-CAcreateserial'];
    await openssl('x509', '-req', '-in', request, ...signing, '-extfile', extensions, '-out', files.cert);
    const [cert, key] = await Promise.all([readFile(files.cert, 'utf8'), readFile(files.key, 'utf8')]);
    return { cert, key, files };
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
