import type { Command, Redis } from 'ioredis';
import type { EmbeddedServer } from '../../lib/embedded/embedded-server.js';
import { Status, type Reply } from '../../lib/embedded/store/reply.js';

/** What two servers may differ in by when they were asked, in ms: on a busy machine one waits for its commands. */
const CLOCK_MS = 30_000;
/** Commands about the server itself, or about a connection. */
const OF_SERVERS: ReadonlySet<string> = new Set(
  'multi exec time config client info acl script memory debug monitor quit hello select function latency'.split(
    ' ',
  ),
);
/** Commands whose reply has no order, or a time. */
const UNORDERED: ReadonlySet<string> = new Set(
  'smembers hgetall hkeys hvals keys scan hscan sscan'.split(' '),
);
const TIMED: ReadonlySet<string> = new Set(['ttl', 'pttl']);

/** What ioredis has of a command, beside its declarations. */
interface Sent extends Pick<Command, 'name' | 'args'> {
  resolve: (raw: unknown) => void;
  reject: (error: Error) => void;
}
type Send = (command: Sent, ...rest: unknown[]) => unknown;

/** Runs each command of a connection to a Redis server on an embedded one too, and compares what they answer. */
export class Mirror {
  readonly differences: string[] = [];
  /** How many replies were compared. */
  compared = 0;
  private readonly send: Send;
  private isTransaction = false;
  private isHidden = false;

  /** @param of what has the embedded server of all connections to the same Redis server */
  constructor(
    private readonly redis: Redis,
    private readonly of: { readonly server: EmbeddedServer },
  ) {
    const connection = redis as unknown as { sendCommand: Send };
    this.send = connection.sendCommand;
    connection.sendCommand = (command, ...rest) => {
      if (!this.isHidden) this.onCommand(command);
      return this.send.call(this.redis, command, ...rest);
    };
  }

  /** Leaves the connection as it was. */
  end(): void {
    (this.redis as unknown as { sendCommand: Send }).sendCommand = this.send;
  }

  /** Both servers' data that differ. */
  async dataDifferences(): Promise<string[]> {
    const one = await dump(async (name, args) => plain(await this.unseen(name, args)));
    const other = await dump(async (name, args) => plain(this.of.server.run(name, args)));
    const names = [...new Set([...one.keys(), ...other.keys()])];
    return names.flatMap((name) => {
      const [a, b] = [one.get(name), other.get(name)];
      if (a && b && a.value === b.value && isNear(a.ttl, b.ttl)) return [];
      // It ends about now.
      const left = a && b ? Infinity : ((a ?? b)?.ttl ?? 0);
      if (left >= 0 && left <= CLOCK_MS) return [];
      return [`data of ${name}:\n  redis    ${shown(a)}\n  embedded ${shown(b)}`];
    });
  }

  private unseen(name: string, args: readonly string[]): Promise<unknown> {
    this.isHidden = true;
    try {
      return this.redis.callBuffer(
        name,
        args.map((arg) => Buffer.from(arg, 'latin1')),
      );
    } finally {
      this.isHidden = false;
    }
  }

  private onCommand(command: Sent): void {
    const name = command.name.toLowerCase();
    if (name === 'multi' || name === 'exec') this.isTransaction = name === 'multi';
    if (OF_SERVERS.has(name)) return;
    const args = command.args.flat().map(bytesOf);
    const mine = answer(() => this.of.server.run(name.toUpperCase(), args));
    // The reply of a command in a transaction only says that it waits.
    if (this.isTransaction) return;
    const { resolve, reject } = command;
    command.resolve = (raw) => {
      this.compare(
        name,
        args,
        answer(() => raw),
        mine,
      );
      resolve(raw);
    };
    command.reject = (error) => {
      this.compare(name, args, { error: error.message }, mine);
      reject(error);
    };
  }

  private compare(name: string, args: readonly string[], theirs: Answer, mine: Answer): void {
    this.compared += 1;
    const [a, b] = [textOf(name, theirs), textOf(name, mine)];
    if (a === b || (TIMED.has(name) && isNear(Number(theirs.reply), Number(mine.reply)))) return;
    // A script that isn't known is sent again as a text: the real server knows it from other tests.
    if (name === 'evalsha' && mine.error?.startsWith('NOSCRIPT')) return;
    this.differences.push(
      `${name} ${args.map((arg) => arg.slice(0, 200)).join(' | ')}\n  redis    ${a}\n  embedded ${b}`,
    );
  }
}

interface Answer {
  readonly reply?: unknown;
  readonly error?: string;
}

function answer(ask: () => unknown): Answer {
  try {
    const reply = ask();
    return reply instanceof Error ? { error: reply.message } : { reply: plain(reply) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

function textOf(name: string, { reply, error }: Answer): string {
  if (error !== undefined) return `error: ${withoutPlace(error)}`;
  // RESP3 has pairs where RESP2 has one list.
  const list = /^z(rev)?range/.test(name) ? [reply].flat(2) : reply;
  return JSON.stringify(UNORDERED.has(name) ? sorted(list) : list);
}

/** What Redis says of an error beside its text, and its place in the script. */
function withoutPlace(message: string): string {
  return message
    .replace(/^ERR (?=user_script|Error running|@user_script)/, '')
    .replace(/ script: [\da-f]{40}, on @user_script:\d+\.$/, '')
    .replace(/(?:@?user_script|@embedded):\d+: /g, '');
}

function sorted(reply: unknown): unknown {
  return Array.isArray(reply)
    ? (reply as unknown[]).map(sorted).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    : reply;
}

/** A reply with texts of bytes, without what a version of RESP says beside the values. */
function plain(reply: unknown): unknown {
  if (Buffer.isBuffer(reply)) return canonical(reply.toString('latin1'));
  if (typeof reply === 'string') return canonical(reply);
  if (reply instanceof Status) return reply.text;
  return Array.isArray(reply) ? (reply as readonly Reply[]).map(plain) : reply;
}

/** JSON with its names in order: that of Lua's tables is no test's promise. */
function canonical(text: string): string {
  if (!text.startsWith('{"')) return text;
  try {
    const value = JSON.parse(text) as Record<string, unknown>;
    return JSON.stringify(Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))));
  } catch {
    return text;
  }
}

function bytesOf(arg: unknown): string {
  return Buffer.isBuffer(arg) ? arg.toString('latin1') : Buffer.from(String(arg), 'utf8').toString('latin1');
}

interface Kept {
  readonly value: string;
  /** In ms; -1 for a key that never expires. */
  readonly ttl: number;
}

const READS: Readonly<Record<string, (name: string) => [string, string[]]>> = {
  string: (name) => ['GET', [name]],
  hash: (name) => ['HGETALL', [name]],
  list: (name) => ['LRANGE', [name, '0', '-1']],
  set: (name) => ['SMEMBERS', [name]],
  zset: (name) => ['ZRANGE', [name, '0', '-1', 'WITHSCORES']],
};

async function dump(ask: Ask): Promise<Map<string, Kept>> {
  const all = new Map<string, Kept>();
  const keep = async (name: string) => {
    const type = String(await ask('TYPE', [name]));
    const [command, args] = READS[type]?.(name) ?? ['TYPE', [name]];
    const reply = await ask(command, args);
    const list = [reply].flat(2);
    let value = type === 'hash' ? pairs(list as string[]).sort(byName) : type === 'set' ? sorted(list) : list;
    if (type === 'hash' && name.startsWith('unique:'))
      value = await unfinished(name, value as string[][], ask);
    const ttl = Number(await ask('PTTL', [name]));
    const isOver = name.startsWith('unique:') && Array.isArray(value) && value.length === 0;
    // It ended meanwhile, or is of the tests' own.
    if (ttl !== -2 && name !== 'last suite' && !isOver)
      all.set(name, { value: `${type} ${JSON.stringify(value)}`, ttl });
  };
  await Promise.all(((await ask('KEYS', ['*'])) as string[]).map(keep));
  return all;
}

/** The unique keys of jobs that have not ended. Which of the others are removed, a server draws by lot. */
async function unfinished(name: string, keys: readonly string[][], ask: Ask): Promise<string[][]> {
  const left = keys.map(async (key) => {
    const [, id = '', mark] = /^(\d+):(\d+):/.exec(key[1] ?? '') ?? [];
    const reply = await ask('HMGET', [`job:${name.slice('unique:'.length)}:${id}`, 'status', 'mark']);
    const [status, stored] = Array.isArray(reply) ? (reply as unknown[]) : [];
    return stored === mark && (status === 'idle' || status === 'busy') ? [key] : [];
  });
  return (await Promise.all(left)).flat();
}

type Ask = (name: string, args: string[]) => Promise<unknown>;

function pairs(list: readonly string[]): string[][] {
  return Array.from({ length: list.length / 2 }, (_, i) => list.slice(2 * i, 2 * i + 2));
}

function byName([a = '']: string[], [b = '']: string[]): number {
  return a < b ? -1 : 1;
}

function isNear(a: number, b: number): boolean {
  return a < 0 || b < 0 ? a === b : Math.abs(a - b) <= CLOCK_MS;
}

function shown(kept: Kept | undefined): string {
  return kept ? `${kept.value} for ${kept.ttl} ms` : 'nothing';
}
