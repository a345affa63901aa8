import { Deque } from './deque.js';
import { ReplyError } from './reply.js';
import { SortedSet } from './sorted-set.js';

export type Hash = Map<string, string>;
export type Stored = string | Hash | Set<string> | Deque | SortedSet;

/** Of so many commands, one removes keys that have expired. */
const COMMANDS_A_SWEEP = 50;
const KEYS_A_SWEEP = 20;
/** So many keys may be kept that are gone. */
const MOST_GONE = 1000;

/** The keys of an embedded server. What expires goes by its clock. */
export class Keyspace {
  /**
   * Also of keys that are gone: the queue of a function comes and goes with each job, and to add and delete a key of a large Map
   * takes twenty microseconds.
   */
  private entries = new Map<string, Entry>();
  private gone = 0;
  /** Keys that expire. */
  private readonly expiring = new Set<string>();
  private sweep: IterableIterator<string> = this.expiring.values();
  private commands = 0;
  /** The earliest time at which a key may expire. */
  private soonest = Infinity;
  /** Lists that got items since the waiting clients were served. */
  readonly pushed = new Set<string>();

  constructor(readonly now: () => number) {}

  find(key: string): Stored | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined || entry.expires >= this.now()) return entry?.value;
    this.delete(key);
    return undefined;
  }

  /** @throws ReplyError if the key has another type */
  text(key: string): string | undefined {
    const value = this.find(key);
    if (value === undefined || typeof value === 'string') return value;
    throw wrongType();
  }

  hash(key: string): Hash | undefined {
    const value = this.find(key);
    if (value === undefined || value instanceof Map) return value;
    throw wrongType();
  }

  set(key: string): Set<string> | undefined {
    const value = this.find(key);
    if (value === undefined || value instanceof Set) return value;
    throw wrongType();
  }

  list(key: string): Deque | undefined {
    const value = this.find(key);
    if (value === undefined || value instanceof Deque) return value;
    throw wrongType();
  }

  sorted(key: string): SortedSet | undefined {
    const value = this.find(key);
    if (value === undefined || value instanceof SortedSet) return value;
    throw wrongType();
  }

  /** Stores a value; when the key expires stays as it is. */
  put(key: string, value: Stored): void {
    const entry = this.entries.get(key);
    if (!entry) return void this.entries.set(key, { value, expires: Infinity });
    if (entry.value === undefined) this.gone -= 1;
    entry.value = value;
  }

  delete(key: string): boolean {
    const entry = this.entries.get(key);
    if (entry?.value === undefined) return false;
    const isThere = entry.expires >= this.now();
    if (entry.expires < Infinity) this.expiring.delete(key);
    entry.value = undefined;
    entry.expires = Infinity;
    this.gone += 1;
    if (this.gone > MOST_GONE && this.gone > this.entries.size / 2) this.forgetGone();
    return isThere;
  }

  private forgetGone(): void {
    this.entries = new Map([...this.entries].filter(([, { value }]) => value !== undefined));
    this.gone = 0;
  }

  /** When a key expires, in ms since 1970; undefined if it never does. */
  expiry(key: string): number | undefined {
    const { expires = Infinity } = this.entries.get(key) ?? {};
    return expires < Infinity ? expires : undefined;
  }

  expire(key: string, time: number): void {
    const entry = this.entries.get(key);
    if (entry?.value === undefined) return;
    if (time <= this.now()) return void this.delete(key);
    if (entry.expires === Infinity) this.expiring.add(key);
    entry.expires = time;
    this.soonest = Math.min(this.soonest, time);
  }

  persist(key: string): boolean {
    const entry = this.entries.get(key);
    if (!entry || entry.expires === Infinity) return false;
    entry.expires = Infinity;
    return this.expiring.delete(key);
  }

  keys(): string[] {
    return [...this.entries.keys()].filter((key) => this.find(key) !== undefined);
  }

  clear(): void {
    this.entries.clear();
    this.gone = 0;
    this.expiring.clear();
  }

  /** Counts a command: now and then those keys are removed that have expired, and that no command asks for. */
  tidy(): void {
    if (
      (this.commands += 1) % COMMANDS_A_SWEEP !== 0 ||
      this.expiring.size === 0 ||
      this.now() < this.soonest
    )
      return;
    const now = this.now();
    for (let i = 0; i < KEYS_A_SWEEP; i++) {
      const next = this.sweep.next();
      if (next.done) {
        this.sweep = this.expiring.values();
        return;
      }
      if ((this.expiry(next.value) ?? Infinity) < now) this.delete(next.value);
    }
  }
}

interface Entry {
  /** Undefined if the key is gone. */
  value: Stored | undefined;
  /** In ms since 1970; Infinity if it never does. */
  expires: number;
}

function wrongType(): ReplyError {
  return new ReplyError('WRONGTYPE Operation against a key holding the wrong kind of value');
}
