import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Redis } from 'ioredis';
import * as edits from '../../lib/gearmonkey/features/edits/edit-scripts.js';
import * as schedules from '../../lib/gearmonkey/features/schedules/schedule-scripts.js';
import * as scripts from '../../lib/gearmonkey/core/wire/scripts.js';
import { unique } from '../../lib/gearmonkey/features/unique/create-unique.js';
import * as views from '../../lib/gearmonkey/features/views/view-scripts.js';
import { until } from './until.js';

/** A command that reached the server, or that a script on it called. */
export interface Traced {
  /** In lower case; a call of one of our scripts has that script's name. */
  readonly name: string;
  /** The same without regard to scripts: such as `evalsha`. */
  readonly command: string;
  readonly args: readonly string[];
  /** At least so many of them, if there are; cheaper than all of them. */
  firstArgs(most: number): readonly string[];
  /** Address of the connection; `lua` for what a script called. */
  readonly source: string;
}

const NAMES = new Map(
  Object.entries({ ...scripts, ...edits, unique, ...schedules, ...views }).map(([name, { sha }]) => [
    sha,
    name,
  ]),
);

/** A script that a test sends in place of ours has its name. */
export function nameAs(sha: string, ours: string): void {
  const name = NAMES.get(ours);
  if (name !== undefined) NAMES.set(sha, name);
}

/** What a server is asked, command by command (MONITOR). It slows the server down: for counts, not for times. */
export class CommandTrace {
  private commands: Traced[] = [];

  private constructor(
    private readonly redis: Redis,
    private readonly monitor: Socket,
  ) {
    createInterface(monitor).on('line', (line) => {
      const traced = TracedLine.of(line);
      if (traced) this.commands.push(traced);
    });
  }

  /** On a socket of its own: ioredis loses its way when commands come before its MONITOR has been answered. */
  static async start(redis: Redis): Promise<CommandTrace> {
    const monitor = connect(redis.options.port ?? 6379, redis.options.host);
    const trace = new CommandTrace(redis, monitor);
    monitor.write('MONITOR\r\n');
    await once(monitor, 'data');
    return trace;
  }

  /** All that came since it was last taken, up to this call. */
  async take(): Promise<Traced[]> {
    const mark = randomUUID();
    await this.redis.echo(mark);
    const end = () =>
      this.commands.findIndex((traced) => traced.command === 'echo' && traced.args[0] === mark) + 1;
    const length = await until(end, { message: 'MONITOR does not show what was sent' });
    return this.commands.splice(0, length).slice(0, -1);
  }

  stop(): void {
    this.monitor.destroy();
  }
}

/** How often each was called by a client, scripts by their names; what scripts call themselves is left out. */
export function countCalls(commands: readonly Traced[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { name, source } of commands) if (source !== 'lua') counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

const LINE = /^\+\S+ \[\d+ (\S+)\] "([^"]+)"/;
const ARGUMENT = /"((?:[^"\\]|\\.)*)"/y;

/** Reads its arguments only as far as they are asked for: those of a long call may be megabytes. */
class TracedLine implements Traced {
  private readonly known: string[] = [];
  private position: number;

  private constructor(
    private readonly line: string,
    head: string,
    readonly source: string,
    readonly command: string,
  ) {
    this.position = head.length + 1;
  }

  static of(line: string): TracedLine | undefined {
    const [head, source = '', command = ''] = LINE.exec(line) ?? [];
    return head === undefined ? undefined : new TracedLine(line, head, source, command.toLowerCase());
  }

  get name(): string {
    const script = this.command === 'evalsha' ? NAMES.get(this.firstArgs(1)[0] ?? '') : undefined;
    return script ?? this.command;
  }

  get args(): readonly string[] {
    return this.firstArgs(Number.POSITIVE_INFINITY);
  }

  firstArgs(most: number): readonly string[] {
    while (this.known.length < most && this.position < this.line.length) {
      ARGUMENT.lastIndex = this.position;
      const [whole = '', text = ''] = ARGUMENT.exec(this.line) ?? [];
      if (whole === '') break;
      this.known.push(unescape(text));
      this.position += whole.length + 1;
    }
    return this.known;
  }
}

/** As `sdsrepr` of Redis writes it. */
function unescape(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_, hex: string | undefined, char: string) =>
    hex === undefined ? (ESCAPES[char] ?? char) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', a: '\u0007', b: '\b' };
