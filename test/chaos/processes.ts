import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readLines } from './history.js';
import type { SlowLine } from '../support/slow-line.js';

export type Role = 'worker' | 'producer';

/** What a child is told, besides where its server is and where its history goes. `clock` is by how many ms its clock is wrong. */
export type Settings = Readonly<Record<string, unknown>>;

/** A child process that ended by itself is started again after this time, as a supervisor would. */
const RESTART_MS = 300;
const EXIT_TIMEOUT_MS = 30_000;
const CLOCK = new URL('./clock.mjs', import.meta.url).href;

/** One life of a member, from its start to its end. */
interface Life {
  readonly name: string;
  readonly child: ChildProcess;
  readonly history: string;
  readonly ended: Promise<unknown>;
  /** Whether its end was asked for. */
  expected: boolean;
}

/** How a process reaches its server. */
export interface Way {
  readonly url: string;
}

/** A worker or producer of ours: a process that is started again whenever it ends, and its way to the server. */
export class Member<W extends Way = SlowLine> {
  readonly histories: { readonly process: string; readonly path: string }[] = [];
  readonly crashes: string[] = [];
  private life?: Life;
  private restarting?: NodeJS.Timeout;
  private retired = false;

  constructor(
    readonly role: Role,
    readonly name: string,
    readonly proxy: W,
    private readonly folder: string,
    private readonly settings: (life: number) => Settings,
  ) {}

  /** @param more for this life alone */
  start(more: Settings = {}): void {
    const name = `${this.name}.${this.histories.length}`;
    const history = join(this.folder, `${name}.history`);
    const own = { ...this.settings(this.histories.length), ...more };
    const settings = { ...own, url: this.proxy.url, history, name };
    const script = fileURLToPath(new URL(`./${this.role}.mjs`, import.meta.url));
    const { clock = 0 } = own as { readonly clock?: number };
    const child = spawn(process.execPath, ['--import', CLOCK, script, JSON.stringify(settings)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1', CHAOS_CLOCK: String(clock) },
    });
    const log = createWriteStream(join(this.folder, `${name}.log`));
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    // None outlives the suite, however that ends.
    const orphan = () => child.kill('SIGKILL');
    process.on('exit', orphan);
    child.once('exit', () => process.off('exit', orphan));
    const life: Life = { name, child, history, ended: once(child, 'exit'), expected: false };
    this.histories.push({ process: name, path: history });
    this.life = life;
    void life.ended.then(() => this.onEnd(life));
  }

  /** The process that runs now. @throws when there is none */
  get current(): string {
    if (!this.life) throw new Error(`${this.name} has not been started.`);
    return this.life.name;
  }

  /** Whether there is a process now. */
  get isRunning(): boolean {
    return this.life !== undefined && isRunning(this.life.child);
  }

  /** Whether it has said so. */
  get isReady(): boolean {
    return this.isRunning && this.life !== undefined && readLines(this.life.history).some(isReady);
  }

  signal(signal: NodeJS.Signals): void {
    this.life?.child.kill(signal);
  }

  /** Resolves when it has ended by itself. Its supervisor starts it again. */
  async endsByItself(): Promise<void> {
    const { life } = this;
    if (!life || !isRunning(life.child)) return;
    const timer = setTimeout(() => {
      this.crashes.push(`${life.name} did not end by itself within ${EXIT_TIMEOUT_MS} ms`);
      life.child.kill('SIGKILL');
    }, EXIT_TIMEOUT_MS);
    await life.ended;
    clearTimeout(timer);
  }

  /**
   * Resolves when it has ended. Only the caller starts it again.
   * @param patience milliseconds until it is killed; within the default it has to end
   */
  end(signal: NodeJS.Signals, patience?: number): Promise<void> {
    return this.endWithin(signal, patience ?? this.limit, patience === undefined);
  }

  /** Milliseconds in which it has to end. */
  private get limit(): number {
    return EXIT_TIMEOUT_MS * (this.role === 'producer' ? 4 : 1);
  }

  private async endWithin(signal: NodeJS.Signals, limit: number, hasTo: boolean): Promise<void> {
    clearTimeout(this.restarting);
    const { life } = this;
    if (!life || !isRunning(life.child)) return;
    life.expected = true;
    life.child.kill(signal);
    const timer = setTimeout(() => {
      if (hasTo) this.crashes.push(`${life.name} did not end within ${limit} ms of its ${signal}`);
      life.child.kill('SIGKILL');
    }, limit);
    await life.ended;
    clearTimeout(timer);
  }

  /**
   * For good.
   * @param most milliseconds in which it has to end, if that is less than usual
   */
  async retire(signal: NodeJS.Signals, most = Infinity): Promise<void> {
    this.retired = true;
    this.signal('SIGCONT');
    await this.endWithin(signal, Math.min(most, this.limit), true);
  }

  private onEnd(life: Life): void {
    if (life.expected || this.retired) return;
    const { exitCode, signalCode } = life.child;
    // One that finds no server when it starts may say so and end.
    if (readLines(life.history).some(isReady))
      this.crashes.push(`${life.name} ended by itself: ${signalCode ?? exitCode}`);
    this.restarting = setTimeout(() => this.start(), RESTART_MS);
  }
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

function isReady(line: Record<string, unknown>): boolean {
  return line['e'] === 'ready';
}
