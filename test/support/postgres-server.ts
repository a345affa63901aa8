import { execFileSync } from 'node:child_process';
import { chmod, chown, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { default as pg } from 'pg';
import { freePort } from './free-port.js';
import { SERVER_ENV, ServerProcess } from './server-process.js';
import { runProgram } from './test-process.js';

const DEBIAN = '/usr/lib/postgresql';
const PASSWORD = 'p@ss/w%rd';

/** A postgres of the test's own. It refuses to run as root, so root's tests run it as the package's user. */
export class PostgresServer {
  private constructor(
    readonly port: number,
    private readonly directory: string,
    private readonly process: ServerProcess,
  ) {}

  /** @param tls files with its certificate and key. @default without encryption */
  static async start(tls?: { readonly cert: string; readonly key: string }): Promise<PostgresServer> {
    const directory = await mkdtemp(join(tmpdir(), 'gearmonkey-postgres-'));
    const port = await freePort();
    const user = systemUser();
    if (user) await chown(directory, user.uid, user.gid);
    const passwordFile = join(directory, 'password');
    await writeFile(passwordFile, PASSWORD);
    const data = join(directory, 'data');
    const account = ['-U', 'jobd', '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
    const args = ['-D', data, ...account, '--no-sync', '-E', 'UTF8', '--locale=C.UTF-8'];
    await runProgram(binary('initdb'), args, { env: SERVER_ENV, ...user });
    const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', `unix_socket_directories=${directory}`];
    if (tls) settings.push('ssl=on', ...(await secrets(tls, directory, user)));
    const process = new ServerProcess({
      command: binary('postgres'),
      args: ['-D', data, ...[...settings, 'fsync=off'].flatMap((setting) => ['-c', setting])],
      ...user,
    });
    const server = new PostgresServer(port, directory, process);
    await process.launch(() => server.answers());
    return server;
  }

  get url(): string {
    return `postgres://jobd:${encodeURIComponent(PASSWORD)}@127.0.0.1:${this.port}/postgres`;
  }

  /** Clients are cut off, as in a crash of the machine. */
  async restart(): Promise<void> {
    await this.process.kill('SIGQUIT');
    await this.process.launch(() => this.answers());
  }

  /** Ends the server and removes its folder. */
  async stop(): Promise<void> {
    await this.process.kill('SIGINT');
    await rm(this.directory, { recursive: true, force: true });
  }

  private async answers(): Promise<boolean> {
    const client = new pg.Client({ connectionString: this.url });
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      return false;
    }
  }
}

/** Copies that are the server's own: it takes no key that others may read. */
async function secrets(
  { cert, key }: { readonly cert: string; readonly key: string },
  directory: string,
  user: { uid: number; gid: number } | undefined,
): Promise<string[]> {
  const settings = { ssl_cert_file: cert, ssl_key_file: key };
  for (const [name, path] of Object.entries(settings)) {
    const copy = join(directory, name);
    await copyFile(path, copy);
    await chmod(copy, 0o600);
    if (user) await chown(copy, user.uid, user.gid);
  }
  return Object.keys(settings).map((name) => `${name}=${join(directory, name)}`);
}

function binary(name: string): string {
  const [version] = existsSync(DEBIAN)
    ? readdirSync(DEBIAN).sort((one, other) => Number(other) - Number(one))
    : [];
  return version ? join(DEBIAN, version, 'bin', name) : name;
}

function systemUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const [, , uid, gid] = execFileSync('getent', ['passwd', 'postgres']).toString().split(':').map(Number);
  return uid && gid ? { uid, gid } : undefined;
}
