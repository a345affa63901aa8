import { AsyncLocalStorage } from 'node:async_hooks';
import { ConfigurationError } from '../job/errors.js';
import { signalWords } from '../job/signals.js';

/** The name of the step that the code runs in. */
const STEP = new AsyncLocalStorage<string>();

const IN_A_STEP = 'Call it between steps.';
const BESIDE_A_STEP = 'Await the step first: a wait may end the run, and begin the handler again.';
const BESIDE_A_WAIT =
  'Await one after the other, or the first of several signals with `job.waitForAny([…], { timeout })`.';

/**
 * What a handler has begun and not ended: any number of steps, or one wait for signals. It can't be told whether a handler
 * that has called for both waits for all of it, or has gone on with what came first.
 */
export class UnderWay {
  private readonly steps = new Set<Promise<unknown>>();
  private waiting?: readonly string[];
  private refused?: ConfigurationError;

  constructor(private readonly fn: string) {}

  /** Runs the code of a step as a part of it. */
  static inStep<Output>(name: string, run: () => Promise<Output>): Promise<Output> {
    return STEP.run(name, run);
  }

  /** @throws ConfigurationError if the handler waits for signals */
  async step<Output>(name: string, run: () => Promise<Output>): Promise<Output> {
    if (this.waiting)
      this.refuse(`job.step("${name}") while it waits for ${signalWords(this.waiting)}. ${BESIDE_A_WAIT}`);
    const step = run().finally(() => this.steps.delete(step));
    this.steps.add(step);
    return step;
  }

  /** @throws ConfigurationError if the handler has a step under way, or another wait */
  wait(signals: readonly string[]): void {
    this.check();
    const what = signals.length === 1 ? 'job.waitFor' : 'job.waitForAny';
    const step = STEP.getStore();
    // It would wait for itself to end.
    if (step !== undefined) this.refuse(`${what} in its step "${step}". ${IN_A_STEP}`);
    if (this.waiting)
      this.refuse(`${what} while it waits for ${signalWords(this.waiting)}. ${BESIDE_A_WAIT}`);
    if (this.steps.size > 0) this.refuse(`${what} while a step has not ended. ${BESIDE_A_STEP}`);
    this.waiting = signals;
  }

  /** The handler goes on behind its wait. */
  waited(): void {
    delete this.waiting;
  }

  /** Called before a wait ends the run. @throws ConfigurationError if anything was refused in this run */
  check(): void {
    if (this.refused) throw this.refused;
  }

  /** Waits for steps that the handler did not await. @throws what they throw */
  async end(): Promise<void> {
    await Promise.all(this.steps);
  }

  /** From then on no wait of this run ends it. */
  private refuse(call: string): never {
    delete this.waiting;
    this.refused ??= new ConfigurationError(`The handler of "${this.fn}" called ${call}`);
    throw this.refused;
  }
}
