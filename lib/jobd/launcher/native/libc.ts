import { createRequire } from 'node:module';
import type Koffi from 'koffi';

/** The arguments of a new process. This process keeps the descriptors. */
export interface SpawnArguments {
  readonly command: string;
  /** The command's name first. */
  readonly args: readonly string[];
  readonly env: CStrings;
  readonly cwd: string | undefined;
  /** The descriptors it writes to. */
  readonly stdout: number;
  readonly stderr: number;
}

/** C strings, made once for many calls. */
export interface CStrings {
  /** Kept: the addresses point into it. */
  readonly text: Buffer;
  /** The address of each, then 0. */
  readonly addresses: BigUint64Array;
}

/** The result of `waitpid`: a status once the process has ended; `gone` if other code has already waited for it. */
export type WaitedFor = { readonly status: number } | 'running' | 'gone';

/** The state of a pipe for its reader: it has data, it has no writer any more, or neither yet. */
export type PipeState = 'data' | 'end' | 'open';

type Native = (...args: readonly unknown[]) => number;

/** Constants of Linux, the same for all C libraries. */
const O_CLOEXEC = 0o2000000;
const O_RDONLY = 0;
const WNOHANG = 1;
const POLLIN = 1;
const SETSIGDEF = 0x04;
const SETSIGMASK = 0x08;
const SETSID = 0x80;
/** More than any C library needs for a set of signals, a process's attributes, or its files. */
const STRUCT_BYTES = 1024;

const FUNCTIONS = {
  pipe2: 'int pipe2(void *pair, int flags)',
  close: 'int close(int fd)',
  poll: 'int poll(void *looks, unsigned long count, int timeout)',
  waitpid: 'int waitpid(int pid, void *status, int options)',
  initAttributes: 'int posix_spawnattr_init(void *attributes)',
  setFlags: 'int posix_spawnattr_setflags(void *attributes, short flags)',
  setDefaultSignals: 'int posix_spawnattr_setsigdefault(void *attributes, void *set)',
  setSignalMask: 'int posix_spawnattr_setsigmask(void *attributes, void *set)',
  initActions: 'int posix_spawn_file_actions_init(void *actions)',
  addOpen: 'int posix_spawn_file_actions_addopen(void *actions, int fd, str path, int flags, int mode)',
  addDuplicate: 'int posix_spawn_file_actions_adddup2(void *actions, int fd, int as)',
  addDirectory: 'int posix_spawn_file_actions_addchdir_np(void *actions, str path)',
  destroyActions: 'int posix_spawn_file_actions_destroy(void *actions)',
  spawn: 'int posix_spawnp(void *pid, str command, void *actions, void *attributes, str *args, void *env)',
} as const;

/**
 * The C library's way to start processes, which borrows the memory of this one instead of copying its page
 * tables: the cost stays the same however large this process is. Linux only, and where koffi is installed.
 */
export class Libc {
  private static opened: Libc | null | undefined;
  private readonly attributes = Buffer.alloc(STRUCT_BYTES);

  /** Undefined if it isn't available. */
  static open(): Libc | undefined {
    return (this.opened ??= load()) ?? undefined;
  }

  constructor(
    private readonly call: Readonly<Record<keyof typeof FUNCTIONS, Native>>,
    private readonly addressOf: (bytes: Buffer) => bigint,
  ) {
    const { attributes } = this;
    // A bit for each signal, including those the library uses itself.
    const [all, none] = [Buffer.alloc(STRUCT_BYTES, 0xff), Buffer.alloc(STRUCT_BYTES)];
    call.initAttributes(attributes);
    // Node ignores some signals, and a started process would inherit that.
    call.setDefaultSignals(attributes, all);
    call.setSignalMask(attributes, none);
    call.setFlags(attributes, SETSIGDEF | SETSIGMASK | SETSID);
  }

  strings(texts: readonly string[]): CStrings {
    const text = Buffer.from(texts.map((one) => `${one}\0`).join(''));
    let address = this.addressOf(text);
    const addresses = texts.map((one) => {
      const own = address;
      address += BigInt(Buffer.byteLength(one) + 1);
      return own;
    });
    return { text, addresses: BigUint64Array.from([...addresses, 0n]) };
  }

  /** Both ends of a pipe that children don't inherit; undefined if no descriptors are left. */
  pipe(): readonly [read: number, write: number] | undefined {
    const pair = new Int32Array(2);
    if (this.call.pipe2(pair, O_CLOEXEC) !== 0) return undefined;
    return [pair[0] ?? -1, pair[1] ?? -1];
  }

  close(fd: number): void {
    this.call.close(fd);
  }

  /** Checks without waiting. */
  look(fd: number): PipeState {
    const look = Int32Array.of(fd, 0);
    // The events to wait for, and those that occurred.
    const events = new Int16Array(look.buffer, Int32Array.BYTES_PER_ELEMENT);
    events[0] = POLLIN;
    if (this.call.poll(look, 1, 0) === 0) return 'open';
    return (events[1] ?? 0) & POLLIN ? 'data' : 'end';
  }

  /** Starts a process in a new session, without input. Undefined if none was started. */
  spawn({ command, args, env, cwd, stdout, stderr }: SpawnArguments): number | undefined {
    const { call } = this;
    const actions = Buffer.alloc(STRUCT_BYTES);
    const pid = new Int32Array(1);
    call.initActions(actions);
    try {
      call.addOpen(actions, 0, '/dev/null', O_RDONLY, 0);
      call.addDuplicate(actions, stdout, 1);
      call.addDuplicate(actions, stderr, 2);
      if (cwd !== undefined) call.addDirectory(actions, cwd);
      const error = call.spawn(pid, command, actions, this.attributes, [...args, null], env.addresses);
      return error === 0 ? pid[0] : undefined;
    } finally {
      call.destroyActions(actions);
    }
  }

  /** Asks without waiting. The system forgets an ended process with this answer. */
  poll(pid: number): WaitedFor {
    const status = new Int32Array(1);
    const found = this.call.waitpid(pid, status, WNOHANG);
    if (found === 0) return 'running';
    return found === pid ? { status: status[0] ?? 0 } : 'gone';
  }
}

/** Null if it isn't available: not on 64-bit Linux, without koffi, or if the C library lacks a function. */
function load(): Libc | null {
  if (process.platform !== 'linux') return null;
  try {
    const koffi = createRequire(import.meta.url)('koffi') as typeof Koffi;
    if (koffi.sizeof('void *') !== BigUint64Array.BYTES_PER_ELEMENT) return null;
    const library = koffi.load(null);
    const functions = Object.entries(FUNCTIONS).map(([name, prototype]) => [name, library.func(prototype)]);
    return new Libc(Object.fromEntries(functions), (bytes) => koffi.address(bytes));
  } catch {
    return null;
  }
}
