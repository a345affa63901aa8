import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Redis } from 'ioredis';
import * as schedules from '../../lib/gearmonkey/wire/schedule-scripts.js';
import * as scripts from '../../lib/gearmonkey/wire/scripts.js';
import * as views from '../../lib/gearmonkey/wire/view-scripts.js';
import { until } from './until.js';

/** A command that reached the server, or that a script on it called. */
export interface Traced {
  /** In lower case; a call of one of our scripts has that script's name. */
  readonly name: string;
  /** The same without regard to scripts: such as `evalsha`. */
  readonly command: string;
  readonly args: readonly string[];
  /** Address of the connection; `lua` for what a script called. */
  readonly source: string;
}

const NAMES = new Map(
  Object.entries({ ...scripts, ...schedules, ...views }).map(([name, { sha }]) => [sha, name]),
);

/** What a server is asked, command by command (MONITOR). It slows the server down: for counts, not for times. */
export class CommandTrace {
  private commands: Traced[] = [];

  private constructor(
    private readonly redis: Redis,
    private readonly monitor: Socket,
  ) {
    createInterface(monitor).on('line', (line) => {
      const traced = parse(line);
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
    const end = () => this.commands.findIndex(({ args }) => args[0] === mark) + 1;
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

const LINE = /^\+\S+ \[\d+ (\S+)\] (.*)$/;
const ARGUMENT = /"((?:[^"\\]|\\.)*)"/g;

function parse(line: string): Traced | undefined {
  const [, source = '', rest = ''] = LINE.exec(line) ?? [];
  const [command = '', ...args] = [...rest.matchAll(ARGUMENT)].map(([, text = '']) => unescape(text));
  if (!source || !command) return undefined;
  const name = command.toLowerCase();
  const script = name === 'evalsha' ? NAMES.get(args[0] ?? '') : undefined;
  return { name: script ?? name, command: name, args, source };
}

/** As `sdsrepr` of Redis writes it. */
function unescape(text: string): string {
  return text.replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_, hex: string | undefined, char: string) =>
    hex === undefined ? (ESCAPES[char] ?? char) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', a: '\u0007', b: '\b' };
