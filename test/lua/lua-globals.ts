import type { Redis } from 'ioredis';

/** Of Lua 5.1: an instruction's lowest six bits. */
const GETGLOBAL = 5;
const SETGLOBAL = 7;
/** The version, byte order and sizes that follow the signature of compiled code. */
const HEADER_BYTES = 12;

export interface Globals {
  readonly read: Set<string>;
  readonly assigned: Set<string>;
}

/** What a script reads and assigns beyond its locals, also where it never runs: as the server compiles it. */
export async function globalsOf(redis: Redis, script: string): Promise<Globals> {
  const dump = 'return string.dump(loadstring(ARGV[1]))';
  const compiled = await redis.callBuffer('EVAL', dump, '0', script);
  const globals = { read: new Set<string>(), assigned: new Set<string>() };
  new Chunk(compiled as Buffer, HEADER_BYTES).readFunction(globals);
  return globals;
}

/** Compiled code, read from its beginning to its end. */
class Chunk {
  constructor(
    private readonly bytes: Buffer,
    private at: number,
  ) {}

  readFunction(globals: Globals): void {
    this.text();
    // Its first and last line; how many upvalues, parameters and registers it has.
    this.at += 2 * 4 + 4;
    const code = this.list(() => this.uint32());
    const constants = this.list(() => this.constant());
    for (const instruction of code) {
      const operation = instruction & 0x3f;
      const name = constants[instruction >>> 14] ?? '';
      if (operation === GETGLOBAL) globals.read.add(name);
      if (operation === SETGLOBAL) globals.assigned.add(name);
    }
    this.list(() => this.readFunction(globals));
    this.readNames();
  }

  /** Lines, locals and upvalues, for messages. */
  private readNames(): void {
    this.list(() => this.uint32());
    this.list(() => {
      this.text();
      this.at += 2 * 4;
    });
    this.list(() => this.text());
  }

  private constant(): string {
    const [NIL, BOOLEAN, NUMBER] = [0, 1, 3];
    const type = this.bytes[this.at++];
    if (type === NIL) return '';
    if (type !== BOOLEAN && type !== NUMBER) return this.text();
    this.at += type === BOOLEAN ? 1 : 8;
    return '';
  }

  private list<T>(item: () => T): T[] {
    return Array.from({ length: this.uint32() }, item);
  }

  private uint32(): number {
    const value = this.bytes.readUInt32LE(this.at);
    this.at += 4;
    return value;
  }

  private text(): string {
    const length = Number(this.bytes.readBigUInt64LE(this.at));
    const start = this.at + 8;
    this.at = start + length;
    return this.bytes.toString('latin1', start, Math.max(start, this.at - 1));
  }
}
