import { maxPayloadBytesOf } from '../gearmonkey/core/client/known-functions.js';
import { codecOf } from '../job/codec.js';
import { ConfigurationError } from '../job/errors.js';
import type { RunningFunction } from '../worker/function-slots.js';
import type { HandlerBinding } from '../worker/job-handler.js';
import type { Isolation } from '../worker/isolation.js';
import { JobWorker, type WorkerLog } from '../worker/job-worker.js';
import type { GearMonkeyInstance } from './gearmonkey.instance.js';
import type { StartedWorkers } from './start-line.js';
import { runsHere, type WorkerRole } from './worker-role.js';

/** The handler of a function. */
interface Handler {
  /** Its name in messages. */
  readonly owner: string;
  /** Undefined if this process doesn't run it. */
  readonly binding: HandlerBinding | undefined;
}

/** The handlers of one instance in this process: decorated methods, and handlers that were added at run time. */
export class InstanceWorkers {
  private readonly handlers = new Map<string, Handler>();
  private readonly disabled = new Set<string>();
  /** Concurrencies that were set, also before the start of their handlers. */
  private readonly concurrency = new Map<string, number>();
  private worker: JobWorker | undefined;
  private hasBegun = false;
  private phase: 'waiting' | 'running' | 'closed' = 'waiting';
  /** Handlers start one after the other, because the first one makes the worker. */
  private beginning: Promise<unknown> = Promise.resolve();
  private closing: Promise<void> | undefined;

  constructor(
    readonly instance: GearMonkeyInstance,
    readonly role: WorkerRole,
    private readonly log: Required<WorkerLog>,
    private readonly isolation: Isolation,
  ) {}

  /** All functions with handlers, including those that are left out in this process or disabled. */
  get functions(): string[] {
    return [...this.handlers.keys(), ...this.disabled];
  }

  /** The functions that run now. */
  list(): RunningFunction[] {
    return this.worker?.list() ?? [];
  }

  /** The contents of its log line at the start. */
  started(): StartedWorkers {
    const leftOut = this.functions.filter((fn) => !this.runs(fn));
    const functions = this.list().map(({ fn, concurrency }) => ({ fn, concurrency }));
    return { functions, leftOut, saidBy: this.role.saidBy };
  }

  /** Whether this process runs handlers of a function. */
  runs(fn: string): boolean {
    return runsHere(this.role, fn);
  }

  /** Records a handler that its options disable. */
  disable(fn: string): void {
    this.disabled.add(fn);
  }

  /** Records a handler. @throws ConfigurationError if the function has one already */
  keep(fn: string, handler: Handler): void {
    const other = this.handlers.get(fn);
    if (other) throw duplicate(fn, other.owner, handler.owner);
    this.handlers.set(fn, handler);
  }

  /** @throws ConfigurationError, ConnectionError */
  async start(): Promise<void> {
    for (const fn of this.concurrency.keys()) this.check(fn);
    this.phase = 'running';
    const bindings = [...this.handlers.values()].flatMap(({ binding }) => binding ?? []);
    if (bindings.length > 0) await this.begin(bindings);
  }

  /** @throws ConfigurationError if the function has a handler */
  refuseTaken(fn: string): void {
    const other = this.handlers.get(fn);
    if (other) throw taken(fn, other.owner);
  }

  /** Adds a handler; before the start, it starts with the others. @throws ConfigurationError, ConnectionError */
  async add(fn: string, handler: Handler): Promise<void> {
    if (this.phase === 'closed') throw closed(fn);
    this.refuseTaken(fn);
    this.keep(fn, handler);
    if (this.phase === 'waiting' || !handler.binding) return;
    try {
      await this.begin([handler.binding]);
    } catch (error) {
      this.handlers.delete(fn);
      throw error;
    }
  }

  /** Stops a function's handler; running jobs may continue for `timeout` milliseconds. */
  async remove(fn: string, timeout: number): Promise<void> {
    const handler = this.handlers.get(fn);
    if (handler) this.handlers.set(fn, { ...handler, binding: undefined });
    await this.worker?.remove(fn, timeout);
    await this.closing;
    this.handlers.delete(fn);
    this.concurrency.delete(fn);
  }

  /** @throws ConfigurationError for a function without a handler */
  setConcurrency(fn: string, concurrency: number): void {
    if (this.phase === 'closed') return;
    if (this.phase === 'running') this.check(fn);
    this.concurrency.set(fn, concurrency);
    this.worker?.setConcurrency(fn, concurrency);
  }

  /** Stops all handlers; running jobs may continue for `timeout` milliseconds. */
  stop(timeout: number): Promise<void> {
    this.phase = 'closed';
    return (this.closing ??= this.stopNow(timeout));
  }

  private async stopNow(timeout: number): Promise<void> {
    await this.worker?.stop(timeout);
    this.worker = undefined;
  }

  private begin(bindings: readonly HandlerBinding[]): Promise<void> {
    const begun = this.beginning.then(() => this.beginNow(bindings));
    this.beginning = begun.catch(() => undefined);
    return begun;
  }

  private async beginNow(all: readonly HandlerBinding[]): Promise<void> {
    const [first] = all;
    if (this.phase === 'closed') throw closed(first?.definition.name ?? '');
    // Those that were not stopped meanwhile.
    const bindings = all.filter((binding) => this.handlers.get(binding.definition.name)?.binding === binding);
    if (bindings.length === 0) return;
    if (this.worker && this.hasBegun) {
      for (const binding of bindings) {
        const { name } = binding.definition;
        await this.worker.add(binding);
        // `stop` has begun while the source was opened for it.
        if (this.phase !== 'running') throw closed(name);
        this.applyConcurrency(this.worker, name);
      }
    } else {
      // A worker that could not start is kept until the next one is made, so that its connections get closed.
      this.worker = this.workerOf(bindings);
      await this.worker.start();
      this.hasBegun = true;
    }
  }

  private workerOf(bindings: readonly HandlerBinding[]): JobWorker {
    const { options, source } = this.instance;
    const { codec, errorDetail, middleware } = options;
    const worker = new JobWorker(source, bindings, {
      codec: codecOf(codec ?? source.codec),
      maxPayloadBytes: maxPayloadBytesOf(options),
      maxStepBytes: options.maxStepBytes,
      errorDetail: errorDetail ?? 'stack',
      // The default stores them and keeps the log to one line.
      logStacks: errorDetail === 'stack',
      log: this.log,
      isolation: this.isolation,
      middleware,
    });
    for (const fn of this.concurrency.keys()) this.applyConcurrency(worker, fn);
    return worker;
  }

  private applyConcurrency(worker: JobWorker, fn: string): void {
    const concurrency = this.concurrency.get(fn);
    if (concurrency !== undefined) worker.setConcurrency(fn, concurrency);
  }

  private check(fn: string): void {
    const { functions } = this;
    if (functions.includes(fn)) return;
    const known = functions.map((name) => `"${name}"`).join(', ') || 'none';
    throw new ConfigurationError(
      `GearMonkeyWorkers.set names "${fn}", and the instance "${this.instance.name}" has no handler for it here (there are: ${known}). Correct the name, or name its \`instance\`.`,
    );
  }
}

function closed(fn: string): ConfigurationError {
  return new ConfigurationError(
    `The app is closing or closed, so the handler for "${fn}" does not run. Add handlers before app.close().`,
  );
}

function taken(fn: string, owner: string): ConfigurationError {
  return new ConfigurationError(
    `"${fn}" has a handler here: ${owner}. Stop that one first and wait for its stop(), or add this one to another \`instance\`.`,
  );
}

function duplicate(fn: string, one: string, other: string): ConfigurationError {
  const who = one === other ? `${one}, whose class is provided by two modules,` : `${one} and ${other}`;
  return new ConfigurationError(
    `${who} both handle "${fn}". One method handles a function: remove one, or give it another instance.`,
  );
}
