import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.js';
import type { Authority, Identity } from './tls.js';
import { until } from './until.js';

/** What is started: any server that takes redis-server's arguments, such as `valkey-server`. */
const PROGRAM = process.env['REDIS_SERVER'] ?? 'redis-server';
const START_ATTEMPTS = 3;
const LOG_CHARACTERS = 4_000;

/** How a server of a test is to be started. */
export interface RedisServerOptions {
  /** Whether it is to watch over others, and to hold no data itself. */
  readonly sentinel?: boolean;
  /** Opens a second port, for TLS alone. */
  readonly tls?: RedisServerTls;
  /** The program that runs it, with its arguments, such as `valgrind`. */
  readonly under?: readonly string[];
}

export interface RedisServerTls extends Pick<Identity, 'files'> {
  readonly authority: Authority;
  /** Whether clients, too, must show a certificate of the authority. @default false */
  readonly clients?: boolean;
}

/** A redis-server of the test's own: no other test uses its port, folder and process. */
export class RedisServer {
  #child: ChildProcess | undefined;
  #log = '';

  private constructor(
    readonly port: number,
    readonly directory: string,
    private readonly args: readonly string[],
    private readonly sentinel: boolean,
    private readonly securePort?: number,
    private readonly under: readonly string[] = [],
  ) {}

  /**
   * Nothing is persisted unless the arguments ask for it.
   * @param args as on redis-server's command line, such as `['--appendonly', 'yes']`
   */
  static async start(args: readonly string[] = [], options: RedisServerOptions = {}): Promise<RedisServer> {
    const { sentinel = false, tls, under } = options;
    for (let attempt = 1; ; attempt++) {
      const directory = await mkdtemp(join(tmpdir(), 'gearmonkey-redis-'));
      const port = await freePort();
      const securePort = tls && (await freePort());
      const all = tls ? [...args, '--tls-port', `${securePort}`, ...certificatesOf(tls)] : args;
      const server = new RedisServer(port, directory, all, sentinel, securePort, under);
      try {
        await server.launch();
        return server;
      } catch (error) {
        await server.stop();
        // Another program may have taken the port in between.
        if (attempt === START_ATTEMPTS) throw error;
      }
    }
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** The port that speaks TLS alone. @throws when the server was started without `tls` */
  get tlsPort(): number {
    if (this.securePort === undefined) throw new Error('This redis-server was started without `tls`.');
    return this.securePort;
  }

  /** @throws as `tlsPort` */
  get tlsUrl(): string {
    return `rediss://127.0.0.1:${this.tlsPort}`;
  }

  /** @throws when the server is not running */
  get pid(): number {
    const pid = this.running?.pid;
    if (pid === undefined) throw new Error(`The redis-server of port ${this.port} is not running.`);
    return pid;
  }

  /** Resolves when the process is gone; with SIGSTOP and SIGCONT, when the signal is sent. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.running;
    if (!child) return;
    if (signal === 'SIGSTOP' || signal === 'SIGCONT') {
      child.kill(signal);
      return;
    }
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
  }

  /** Starts again with the same port and folder; a running server is shut down first. Data that it did not persist is lost. */
  async restart(): Promise<void> {
    await this.shutDown();
    await this.launch();
  }

  /** Ends the server and removes its folder. */
  async stop(): Promise<void> {
    await this.shutDown();
    await rm(this.directory, { recursive: true, force: true });
  }

  private get running(): ChildProcess | undefined {
    const child = this.#child;
    return child && child.exitCode === null && child.signalCode === null ? child : undefined;
  }

  private async shutDown(): Promise<void> {
    // A process held by SIGSTOP would not see the SIGTERM.
    await this.kill('SIGCONT');
    await this.kill('SIGTERM');
  }

  private async launch(): Promise<void> {
    const own = ['--bind', '127.0.0.1', '--port', `${this.port}`, '--dir', this.directory];
    const role = this.sentinel ? [await this.emptyFile(), '--sentinel', ...own] : [...own, '--save', ''];
    const [program = PROGRAM, ...before] = [...this.under, PROGRAM];
    const child = spawn(program, [...before, ...role, ...this.args], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#log = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#log = (this.#log + text).slice(-LOG_CHARACTERS);
      });
    }
    await once(child, 'spawn');
    this.#child = child;
    await until(() => this.answers(), { message: `${PROGRAM} does not answer on port ${this.port}` });
  }

  /** A sentinel needs a file for its state. */
  private async emptyFile(): Promise<string> {
    const path = join(this.directory, 'sentinel.conf');
    await writeFile(path, '');
    return path;
  }

  /** Asks for the process id as well: on a port lost to another server, that one would answer. */
  private async answers(): Promise<boolean> {
    if (!this.running) throw new Error(`${PROGRAM} ended while starting:\n${this.#log}`);
    const probe = new Redis(this.url, { lazyConnect: true, retryStrategy: () => null });
    probe.on('error', () => undefined);
    try {
      await probe.connect();
    } catch {
      // No disconnect(): on a connection that failed, ioredis would leave a timer of two seconds behind.
      return false;
    }
    try {
      await probe.ping();
      return (await probe.info('server')).includes(`process_id:${this.#child?.pid}\r\n`);
    } catch {
      return false;
    } finally {
      probe.disconnect();
    }
  }
}

function certificatesOf({ authority, files, clients = false }: RedisServerTls): string[] {
  const own = ['--tls-cert-file', files.cert, '--tls-key-file', files.key];
  return [...own, '--tls-ca-cert-file', authority.file, '--tls-auth-clients', clients ? 'yes' : 'no'];
}
