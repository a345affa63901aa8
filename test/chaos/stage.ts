import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { Observer } from './observer.js';
import { PlainActors } from './plain-actors.js';
import { Member, type Role, type Settings } from './processes.js';
import { SlowLine } from '../support/slow-line.js';

/** Every write is on disk before it is answered, and the whole log of them is kept. */
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always', '--auto-aof-rewrite-percentage', '0'];

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
  ) {}

  static async open({ workers, producers, settings }: StageOptions): Promise<Stage> {
    const server = await RedisServer.start(DURABLE);
    const folder = await mkdtemp(join(tmpdir(), 'gearmonkey-chaos-'));
    const members = (role: Role, count: number) =>
      Promise.all(
        Array.from({ length: count }, async (_, i) => {
          const proxy = await SlowLine.start(server.port);
          return new Member(role, `${role}${i}`, proxy, folder, (life) => settings(role, i, life));
        }),
      );
    return new Stage(
      server,
      folder,
      await members('worker', workers),
      await members('producer', producers),
      new PlainActors(),
      new Observer(server.url),
    );
  }

  get members(): readonly Member[] {
    return [...this.workers, ...this.producers];
  }

  /** Resolves when everybody is there. */
  async start(): Promise<void> {
    this.plain.start(this.server.url);
    for (const member of this.members) member.start();
    await this.everybodyReady();
  }

  async everybodyReady(): Promise<void> {
    const message = 'Not all processes have started';
    await until(() => this.members.every((member) => member.isReady), { timeout: 30_000, message });
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
    if (!keepFolder) await rm(this.folder, { recursive: true, force: true });
  }
}
