import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformFile } from '@swc/core';
import { RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { Observer } from './observer.js';
import { PlainActors } from './plain-actors.js';
import { Member, type Role, type Settings } from './processes.js';
import { Ways } from './ways.js';

/** Every write is on disk before it is answered, and the whole log of them is kept. */
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always', '--auto-aof-rewrite-percentage', '0'];

/** A process that reaches no server in time ends and is started again, on a busy machine more than once. */
const START_MS = 120_000;
const HOSTILE_VALUES = fileURLToPath(new URL('../support/hostile-values.ts', import.meta.url));

export interface StageOptions {
  readonly workers: number;
  readonly producers: number;
  /** What a member's process is told, by its role, its number and its life. */
  readonly settings: (role: Role, index: number, life: number) => Settings;
}

/** Everything that takes part in a run: the server, ours, and the plain ones. */
export class Stage {
  private constructor(
    readonly server: RedisServer,
    /** Where histories and logs are. */
    readonly folder: string,
    readonly workers: readonly Member[],
    readonly producers: readonly Member[],
    readonly plain: PlainActors,
    readonly observer: Observer,
    private readonly ways: Ways,
  ) {}

  static async open({ workers, producers, settings }: StageOptions): Promise<Stage> {
    const ways = await Ways.open();
    const server = await RedisServer.start([...DURABLE, ...ways.server.args], { tls: ways.server.tls });
    const folder = await mkdtemp(join(tmpdir(), 'gearmonkey-chaos-'));
    const hostile = await compiled(HOSTILE_VALUES, folder);
    const members = (role: Role, count: number) =>
      Promise.all(
        Array.from({ length: count }, async (_, i) => {
          const { line, connection } = await ways.lineOf(role, i, server);
          const more = { connection, hostile };
          return new Member(role, `${role}${i}`, line, folder, (life) => ({
            ...settings(role, i, life),
            ...more,
          }));
        }),
      );
    return new Stage(
      server,
      folder,
      await members('worker', workers),
      await members('producer', producers),
      new PlainActors(),
      new Observer(server.url),
      ways,
    );
  }

  get members(): readonly Member[] {
    return [...this.workers, ...this.producers];
  }

  /** Resolves when all processes have started. */
  async start(): Promise<void> {
    this.plain.start(this.server.url);
    for (const member of this.members) member.start();
    await this.everybodyReady();
  }

  async everybodyReady(): Promise<void> {
    const missing = () => this.members.flatMap((member) => (member.isReady ? [] : [member.current]));
    await until(() => missing().length === 0, {
      timeout: START_MS,
      message: `Not all processes have started, see their logs in ${this.folder}`,
      seen: missing,
    });
  }

  async stopLoad(): Promise<void> {
    await Promise.all(this.producers.map((producer) => producer.retire('SIGTERM')));
    await this.plain.stopClients();
  }

  async stopWorkers(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.retire('SIGTERM')));
    await this.plain.stopWorkers();
  }

  /** Ends what still runs. With `keepFolder` the server's log of writes is kept too. */
  async close({ keepFolder = false } = {}): Promise<void> {
    await Promise.all(this.members.map((member) => member.retire('SIGKILL')));
    await this.plain.stopClients();
    await this.plain.stopWorkers();
    await this.observer.close();
    await Promise.all(this.members.map(({ proxy }) => proxy.stop()));
    if (keepFolder) await cp(this.server.directory, join(this.folder, 'server'), { recursive: true });
    await this.server.stop();
    await this.ways.close();
    if (!keepFolder) await rm(this.folder, { recursive: true, force: true });
  }
}

/** Members run without a loader, which would make each start slower. */
async function compiled(path: string, folder: string): Promise<string> {
  const { code } = await transformFile(path, { jsc: { target: 'es2022', parser: { syntax: 'typescript' } } });
  const file = join(folder, 'hostile-values.mjs');
  await writeFile(file, code);
  return file;
}
