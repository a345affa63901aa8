import { createHash } from 'node:crypto';
import type { Clock } from '../job/clock.js';
import { programOf, type Program } from './lua/runtime.js';
import { general, LuaError, Table, type Value } from './lua/values.js';
import { COMMANDS } from './store/commands.js';
import type { Deque } from './store/deque.js';
import { Keyspace } from './store/keyspace.js';
import type { SortedSet } from './store/sorted-set.js';
import { OK, ReplyError, Status, type Reply } from './store/reply.js';

export type Subscriber = (channel: string, message: string) => void;

/** A client that waits for one of these lists to have an item. */
export interface Waiter {
  readonly keys: readonly string[];
  serve(key: string, item: string): void;
}

/**
 * A Redis server in this process, as far as this package uses one: its commands, its messages, and the same Lua scripts. Its
 * data end with the process. Texts have a character for each byte.
 */
export class EmbeddedServer {
  private readonly db: Keyspace;
  private readonly programs = new Map<string, Program>();
  private readonly subscribers = new Map<string, Set<Subscriber>>();
  private readonly waiters = new Set<Waiter>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.db = new Keyspace(() => clock.now());
  }

  /** Runs a command, and serves those that wait for what it did. @throws ReplyError */
  run(name: string, args: readonly string[]): Reply {
    try {
      return this.command(name, args);
    } finally {
      if (this.db.pushed.size > 0) this.serveWaiters();
    }
  }

  /** A sorted set as it is stored, for readers in this process. */
  sorted(key: string): SortedSet | undefined {
    return this.db.sorted(key);
  }

  /** A list as it is stored. */
  list(key: string): Deque | undefined {
    return this.db.list(key);
  }

  /** Pops the first item of the first list that has one. */
  pop(keys: readonly string[]): readonly [key: string, item: string] | undefined {
    for (const key of keys) {
      const item = COMMANDS['LPOP']?.(this.db, [key]);
      if (typeof item === 'string') return [key, item];
    }
    return undefined;
  }

  /** Serves a waiter when one of its lists gets an item. Returns a function that ends that. */
  wait(waiter: Waiter): () => void {
    this.waiters.add(waiter);
    return () => void this.waiters.delete(waiter);
  }

  subscribe(channel: string, subscriber: Subscriber): void {
    const all = this.subscribers.get(channel) ?? new Set();
    this.subscribers.set(channel, all.add(subscriber));
  }

  unsubscribe(channel: string, subscriber: Subscriber): void {
    const all = this.subscribers.get(channel);
    if (all?.delete(subscriber) && all.size === 0) this.subscribers.delete(channel);
  }

  private command(name: string, args: readonly string[]): Reply {
    this.db.tidy();
    const command = COMMANDS[name];
    if (command) return command(this.db, args);
    switch (name) {
      case 'PUBLISH':
        return this.publish(args[0] ?? '', args[1] ?? '');
      case 'EVALSHA':
        return this.evaluate(this.programs.get(args[0] ?? ''), args);
      case 'EVAL':
        return this.evaluate(this.load(args[0] ?? ''), args);
      case 'PUBSUB':
        return args.slice(1).flatMap((channel) => [channel, this.subscribers.get(channel)?.size ?? 0]);
      case 'CLIENT':
      case 'CONFIG':
        return OK;
      default:
        throw new ReplyError(`ERR unknown command '${name}' of the embedded server`);
    }
  }

  private publish(channel: string, message: string): number {
    const all = this.subscribers.get(channel);
    if (!all) return 0;
    for (const subscriber of [...all]) subscriber(channel, message);
    return all.size;
  }

  private load(bytes: string): Program {
    const text = Buffer.from(bytes, 'latin1').toString('utf8');
    const sha = createHash('sha1').update(text).digest('hex');
    const program = this.programs.get(sha) ?? programOf(text, this.functions);
    this.programs.set(sha, program);
    return program;
  }

  private evaluate(program: Program | undefined, [, count = '0', ...rest]: readonly string[]): Reply {
    if (!program) throw new ReplyError('NOSCRIPT No matching script. Please use EVAL.');
    const keys = Number(count);
    try {
      return replyOf(program(new Table(rest.slice(0, keys)), new Table(rest.slice(keys))));
    } catch (error) {
      throw error instanceof LuaError ? new ReplyError(messageOf(error)) : error;
    }
  }

  /** What scripts call. */
  private readonly functions: Readonly<Record<string, Value>> = {
    'redis.call': (name, ...args) => {
      try {
        return valueOf(this.command(commandName(name), args.map(argument)));
      } catch (error) {
        throw error instanceof ReplyError ? new LuaError(errorTable(error.message)) : error;
      }
    },
    'redis.pcall': (name, ...args) => {
      try {
        return valueOf(this.command(commandName(name), args.map(argument)));
      } catch (error) {
        if (error instanceof ReplyError) return errorTable(error.message);
        throw error;
      }
    },
    'redis.error_reply': (text) => errorTable(String(text)),
    'redis.status_reply': (text) => new Table().with('ok', text),
    'redis.acl_check_cmd': () => true,
    'redis.sha1hex': (text) => createHash('sha1').update(String(text), 'latin1').digest('hex'),
  };

  private serveWaiters(): void {
    const { pushed } = this.db;
    for (const waiter of [...this.waiters]) {
      const item = this.pop(waiter.keys.filter((key) => pushed.has(key)));
      if (!item) continue;
      this.waiters.delete(waiter);
      waiter.serve(...item);
    }
    pushed.clear();
  }
}

function commandName(name: Value): string {
  return String(name);
}

/** @throws LuaError */
function argument(value: Value): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number')
    return Number.isInteger(value) && Math.abs(value) < 1e17 ? String(value) : general(value, 17);
  throw new LuaError(errorTable('ERR Lua redis lib command arguments must be strings or integers'));
}

function errorTable(message: string): Table {
  return new Table().with('err', message);
}

/** A reply as scripts see it. */
function valueOf(reply: Reply): Value {
  if (reply === null) return false;
  if (typeof reply !== 'object') return reply;
  if (reply instanceof Status) return new Table().with('ok', reply.text);
  return new Table((reply as readonly Reply[]).map(valueOf));
}

/** What a script returns as a reply: a table ends before its first nil. @throws ReplyError */
function replyOf(result: unknown): Reply {
  const value =
    typeof result === 'object' && result !== null && 'list' in result
      ? (result.list as Value[])[0]
      : (result as Value);
  if (value === undefined || value === false) return null;
  if (value === true) return 1;
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return Math.trunc(value);
  if (!(value instanceof Table)) return null;
  const [failure, status] = [value.field('err'), value.field('ok')];
  if (typeof failure === 'string') throw new ReplyError(failure);
  if (typeof status === 'string') return new Status(status);
  const end = value.items.indexOf(undefined);
  return (end < 0 ? value.items : value.items.slice(0, end)).map(replyOf);
}

function messageOf({ value }: LuaError): string {
  const text = value instanceof Table ? value.field('err') : value;
  return typeof text === 'string' ? text : 'ERR the script failed';
}
