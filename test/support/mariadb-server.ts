import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import mysql, { type Connection } from 'mysql2/promise';
import { freePort } from './free-port.js';
import { SERVER_ENV, ServerProcess } from './server-process.js';
import { runProgram } from './test-process.js';

const PASSWORD = 'p@ss/w%rd';

/** A mariadbd of the test's own: no other test uses its port, folder and process. */
export class MariaDbServer {
  readonly user = 'root';
  readonly password = PASSWORD;
  readonly database = 'jobs';

  private constructor(
    readonly port: number,
    private readonly directory: string,
    private readonly process: ServerProcess,
  ) {}

  /** @param args more of mariadbd's command line */
  static async start(args: readonly string[] = []): Promise<MariaDbServer> {
    const directory = await mkdtemp(join(tmpdir(), 'gearmonkey-mariadb-'));
    const port = await freePort();
    // A server that starts removes what it takes for its own temporary tables, another's among them.
    const temporary = join(directory, 'tmp');
    await mkdir(temporary);
    const folders = [`--datadir=${join(directory, 'data')}`, `--tmpdir=${temporary}`];
    const own = ['--no-defaults', `--user=${userInfo().username}`, ...folders];
    const plain = ['--auth-root-authentication-method=normal', '--skip-test-db', '--skip-name-resolve'];
    await runProgram('mariadb-install-db', [...own, ...plain], { env: SERVER_ENV });
    const listening = [`--port=${port}`, '--bind-address=127.0.0.1', '--skip-name-resolve'];
    const files = [`--socket=${join(directory, 'socket')}`, `--pid-file=${join(directory, 'pid')}`];
    // What is committed survives a SIGKILL of the process all the same.
    const quick = ['--innodb-flush-log-at-trx-commit=2', '--innodb-buffer-pool-size=32M'];
    const command = 'mariadbd';
    const process = new ServerProcess({ command, args: [...own, ...listening, ...files, ...quick, ...args] });
    const server = new MariaDbServer(port, directory, process);
    await process.launch(() => server.answers(''));
    await server.setUp();
    return server;
  }

  get url(): string {
    return `mysql://${this.user}:${encodeURIComponent(this.password)}@127.0.0.1:${this.port}/${this.database}`;
  }

  connect(): Promise<Connection> {
    const { port, user, password, database } = this;
    return mysql.createConnection({ host: '127.0.0.1', port, user, password, database, charset: 'utf8mb4' });
  }

  async version(): Promise<string> {
    const connection = await this.connect();
    const [rows] = await connection.query('SELECT VERSION() AS version');
    await connection.end();
    return (rows as { version: string }[])[0]?.version ?? '';
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    return this.process.kill(signal);
  }

  /** Same port, same data; a server that still runs is shut down first. */
  async restart(): Promise<void> {
    await this.shutDown();
    await this.process.launch(() => this.answers(this.password));
  }

  /** For after a test that may have failed while the server was down. */
  async restartIfDown(): Promise<void> {
    if (!this.process.isRunning) await this.restart();
  }

  /** Ends the server and removes its folder. */
  async stop(): Promise<void> {
    // Nothing of it is kept, and a SIGTERM that comes while it starts would be lost.
    await this.process.kill('SIGKILL');
    await rm(this.directory, { recursive: true, force: true });
  }

  private async shutDown(): Promise<void> {
    await this.process.kill('SIGCONT');
    await this.process.kill('SIGTERM');
  }

  private async setUp(): Promise<void> {
    const { port, user } = this;
    const connection = await mysql.createConnection({ host: '127.0.0.1', port, user });
    await connection.query(`CREATE DATABASE ${this.database}`);
    await connection.query("SET PASSWORD FOR 'root'@'localhost' = PASSWORD(?)", [this.password]);
    await connection.query("CREATE USER 'root'@'127.0.0.1' IDENTIFIED BY ?", [this.password]).catch(() => 0);
    await connection.query("SET PASSWORD FOR 'root'@'127.0.0.1' = PASSWORD(?)", [this.password]);
    await connection.query("GRANT ALL ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION");
    await connection.end();
  }

  private async answers(password: string): Promise<boolean> {
    const { port, user } = this;
    try {
      const connection = await mysql.createConnection({ host: '127.0.0.1', port, user, password });
      await connection.end();
      return true;
    } catch {
      return false;
    }
  }
}
