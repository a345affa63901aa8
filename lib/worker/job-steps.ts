import { payloadBytes, read, write, type Codec, type Payload } from '../job/codec.js';
import { ConfigurationError, InvalidOptionError } from '../job/errors.js';
import { showAs } from '../job/show-as.js';
import type { Claim } from '../job/job-source.js';
import { waitField, writeWait, signalWords } from '../job/signals.js';
import {
  DuplicateStepError,
  SignalTimeoutError,
  StepsChangedError,
  StepTooLargeError,
} from '../job/step-errors.js';
import { JobCursor } from './job-cursor.js';
import { checkSignalNames, fieldsAndClock, readSignalWait, type JobSignal } from './signal-wait.js';
import {
  cursorField,
  isStepName,
  MAX_STEP_NAME,
  MAX_STEPS,
  stepField,
  STEPS_FIELD,
  writeStep,
  writeStepList,
  type StepRecords,
  readStep,
  readStepList,
  type StoredStep,
} from '../job/steps.js';
import { AsyncLocalStorage } from 'node:async_hooks';

export interface JobStepsOptions {
  readonly claim: Claim;
  /** Absent in systems that keep no steps. */
  readonly records: StepRecords | undefined;
  readonly codec: Codec;
  /** What the definition calls this order of steps; '' without. */
  readonly version: string;
  readonly maxStepBytes: number;
  readonly now: () => number;
  /** Whether the job is to go on elsewhere. */
  readonly isEnding: () => boolean;
  /** Throws if the job has to stop; gives it back first if it is to go on elsewhere. */
  readonly goOn: () => void;
  /** Called when another worker has the job: it throws. */
  readonly onLost: () => void;
  /** Resolves when all that the job streams is written: behind the end of the claim it would be refused. */
  readonly flushStreams: () => Promise<void>;
  /** Gives the job back until one of the signals comes, for that long at most: it throws. */
  readonly park: (signals: readonly string[], delay: number) => never;
}

/** The steps of one run of a job. */
export class JobSteps {
  static {
    showAs(JobSteps, () => ({}));
  }

  private readonly called: string[] = [];
  private recorded?: Promise<Recorded>;
  private readonly cursors: { flush(): Promise<void> }[] = [];
  private readonly underWay: UnderWay;
  /** Fields that are written with the next ones. */
  private readonly unwritten = new Map<string, Payload>();
  /** The last write. */
  private written: Promise<void> = Promise.resolve();
  /** The write that begins after the one under way, and takes along what is given until then. */
  private joined?: Promise<void>;

  constructor(private readonly options: JobStepsOptions) {
    this.underWay = new UnderWay(options.claim.fn);
  }

  /** The output of a step: the recorded one, or that of `run`, which is recorded. */
  run<Output>(name: string, run: () => Output | Promise<Output>): Promise<Output> {
    return this.underWay.step(name, () => this.runOnce(name, run));
  }

  private async runOnce<Output>(name: string, run: () => Output | Promise<Output>): Promise<Output> {
    const recorded = await this.next(name);
    const known = recorded.steps.get(name);
    if (known) return this.decode(known.output) as Output;
    this.mustBeNew(recorded, name);
    await this.flush();
    if (this.options.isEnding()) await this.options.flushStreams();
    this.options.goOn();
    const started = this.options.now();
    const output = this.encode(name, await UnderWay.inStep(name, async () => run()));
    await this.record(recorded, [[stepField(name), writeStep(started, this.options.now(), output)]]);
    return this.decode(typeof output === 'string' ? Buffer.from(output) : output) as Output;
  }

  /** A place in a loop: the recorded one, or `start`. */
  async cursor<Value>(
    name: string,
    start: Value,
    codec: Codec = this.options.codec,
  ): Promise<JobCursor<Value>> {
    const recorded = await this.next(name);
    const known = recorded.cursors.get(name);
    if (!known) this.mustBeNew(recorded, name);
    const cursor = new JobCursor<Value>({
      value: known ? (this.decode(known, codec) as Value) : start,
      encode: (value) => {
        const output = this.encode(name, value, codec);
        return () => this.record(recorded, [[cursorField(name), output]]);
      },
      now: this.options.now,
      afterAdvance: async (flush) => {
        if (this.options.isEnding()) await Promise.all([flush(), this.options.flushStreams()]);
        this.options.goOn();
      },
    });
    this.cursors.push(cursor);
    return cursor;
  }

  /** The first of these signals: one that has come, or the job is given back until one comes. */
  async waitForAny(names: readonly string[], timeout: number): Promise<JobSignal> {
    checkSignalNames(names);
    this.underWay.wait(names);
    try {
      return await this.awaitAny(names, timeout);
    } finally {
      this.underWay.waited();
    }
  }

  private async awaitAny(names: readonly string[], timeout: number): Promise<JobSignal> {
    const { claim, goOn, park } = this.options;
    const recorded = await this.next(...names);
    for (const name of names) if (!recorded.waits.has(name)) this.mustBeNew(recorded, name);
    const [fields, now] = await fieldsAndClock(this.options, names);
    const { came, deadline, isOver } = readSignalWait(fields, names, now() + timeout);
    this.underWay.check();
    if (came) {
      // What the handler does with it depends on no other one that comes later.
      this.endWaits(names, came.name, deadline);
      return { name: came.name, data: this.decode(came.data, this.options.codec, 'signal') };
    }
    if (isOver || deadline <= now()) {
      this.endWaits(names, undefined, deadline);
      throw new SignalTimeoutError(claim.fn, claim.id, names);
    }
    await Promise.all([this.flush(), this.options.flushStreams()]);
    goOn();
    const wait = writeWait({ deadline, isOver: false });
    await this.record(
      recorded,
      names.map((name) => [waitField(name), wait]),
    );
    this.underWay.check();
    return park(names, Math.max(0, deadline - now()));
  }

  /** Writes the places of all cursors. */
  async flush(): Promise<void> {
    await Promise.all(this.cursors.map((cursor) => cursor.flush()));
  }

  /**
   * Called when the handler has ended: waits for steps that it did not await.
   *
   * @throws what they throw · StepsChangedError if it left out a step that was recorded
   */
  async end(): Promise<void> {
    await this.underWay.end();
    const recorded = await this.recorded;
    const left = recorded?.names.slice(this.called.length).find((name) => hasRecorded(recorded, name));
    if (left !== undefined) this.changed(`"${left}" is gone`);
  }

  /** Ends the wait for these, but for the one that has come. */
  private endWaits(names: readonly string[], came: string | undefined, deadline: number): void {
    const over = writeWait({ deadline, isOver: true });
    for (const name of names) if (name !== came) this.unwritten.set(waitField(name), over);
  }

  /** Takes the next places in the order of the handler, and returns what is recorded. */
  private async next(...names: string[]): Promise<Recorded> {
    const places = names.map((name) => this.call(name));
    const recorded = await (this.recorded ??= readRecorded(this.options));
    for (const place of places) this.checkOrder(recorded, place);
    return recorded;
  }

  /** At once, so that steps that run side by side have their order from the code. */
  private call(name: string): number {
    const { claim, records } = this.options;
    if (!records)
      throw new ConfigurationError(
        `The handler of "${claim.fn}" called job.step, which is for jobs of GearMonkey and memory.`,
      );
    if (!isStepName(name))
      throw new InvalidOptionError('name', name, `text of 1 to ${MAX_STEP_NAME} characters`);
    if (this.called.includes(name)) throw new DuplicateStepError(claim.fn, name);
    if (this.called.length === MAX_STEPS)
      throw new InvalidOptionError('name', name, `one of at most ${MAX_STEPS} steps of a job`);
    return this.called.push(name) - 1;
  }

  /** Steps that were called and not recorded may change: nothing depends on them. */
  private checkOrder(recorded: Recorded, index: number): void {
    const { names } = recorded;
    const name = this.called[index] ?? '';
    const before = names[index];
    if (before === name) return;
    if (before !== undefined && hasRecorded(recorded, before))
      this.changed(`"${name}" stands where "${before}" was`);
    if (hasRecorded(recorded, name))
      this.changed(`"${name}" stood at place ${names.indexOf(name) + 1}, now at ${index + 1}`);
  }

  /** @throws StepsChangedError if something else of this name is recorded */
  private mustBeNew({ steps, cursors, waits }: Recorded, name: string): void {
    if (steps.has(name)) this.changed(`"${name}" was a step`);
    if (cursors.has(name)) this.changed(`"${name}" was a cursor`);
    if (waits.has(name)) this.changed(`"${name}" was a signal`);
  }

  private changed(found: string): never {
    const { fn, id } = this.options.claim;
    throw new StepsChangedError(fn, id, found);
  }

  /**
   * Writes these fields with all that is still to be written. One write at a time: one that is repeated while the server refuses
   * it may not come behind a later one. Steps that run side by side share the next one.
   */
  private record(
    recorded: Recorded,
    fields: readonly (readonly [field: string, value: Payload])[],
  ): Promise<void> {
    for (const [field, value] of fields) this.unwritten.set(field, value);
    if (this.joined) return this.joined;
    const begin = () => {
      this.joined = undefined;
      return this.write(recorded);
    };
    this.joined = this.written.then(begin, begin);
    return (this.written = this.joined);
  }

  private async write(recorded: Recorded): Promise<void> {
    const { claim, records, version, onLost } = this.options;
    while (this.unwritten.size > 0) {
      const list = writeStepList({ version, names: this.called });
      const fields = new Map([[STEPS_FIELD, list], ...this.take()]);
      const removed = recorded.outdated;
      recorded.outdated = [];
      if (!(await records?.write(claim, fields, removed))) onLost();
    }
  }

  /** Fields to write, as many as one large step would take. */
  private take(): [field: string, value: Payload][] {
    const taken: [string, Payload][] = [];
    let bytes = 0;
    for (const [field, value] of this.unwritten) {
      bytes += payloadBytes(value);
      if (taken.length > 0 && bytes > this.options.maxStepBytes) break;
      taken.push([field, value]);
      this.unwritten.delete(field);
    }
    return taken;
  }

  private encode(name: string, value: unknown, codec = this.options.codec): Payload {
    const { claim, maxStepBytes } = this.options;
    const output = write(codec, claim.fn, 'step output', value);
    const bytes = payloadBytes(output);
    if (bytes > maxStepBytes) throw new StepTooLargeError(claim.fn, name, bytes, maxStepBytes);
    return output;
  }

  private decode(
    bytes: Uint8Array,
    codec = this.options.codec,
    what: 'step output' | 'signal' = 'step output',
  ): unknown {
    return read(codec, this.options.claim.fn, what, bytes);
  }
}

/** What earlier runs of a job have recorded. */
interface Recorded {
  readonly names: readonly string[];
  readonly steps: ReadonlyMap<string, StoredStep>;
  readonly cursors: ReadonlyMap<string, Uint8Array>;
  /** Names of the signals that it waited for. */
  readonly waits: ReadonlySet<string>;
  /** Fields of another version: the next write removes them. */
  outdated: readonly string[];
}

/** Tokens are multiples of this, plus how often the job was claimed. */
const MARK = 1_000_000;

/** Asks nothing in a job's first run. A list of another `version` counts as none. */
async function readRecorded({
  claim,
  records,
  version,
}: {
  readonly claim: Claim;
  readonly records: StepRecords | undefined;
  readonly version: string;
}): Promise<Recorded> {
  if (!records || claim.token % MARK === 1) return nothingRecorded([]);
  const list = readStepList((await records.read(claim, [STEPS_FIELD])).get(STEPS_FIELD));
  if (!list || list.names.length === 0) return nothingRecorded([]);
  const { names } = list;
  const fields = names.flatMap((name) => [stepField(name), cursorField(name), waitField(name)]);
  if (list.version !== version) return nothingRecorded(fields);
  const stored = await records.read(claim, fields);
  const steps = names.flatMap((name) => {
    const step = readStep(stored.get(stepField(name)));
    return step ? [[name, step] as const] : [];
  });
  const cursors = names.flatMap((name) => {
    const value = stored.get(cursorField(name));
    return value ? [[name, value] as const] : [];
  });
  const waits = new Set(names.filter((name) => stored.has(waitField(name))));
  return { names, steps: new Map(steps), cursors: new Map(cursors), waits, outdated: [] };
}

/** Whether something depends on this name. */
function hasRecorded({ steps, cursors, waits }: Recorded, name: string): boolean {
  return steps.has(name) || cursors.has(name) || waits.has(name);
}

function nothingRecorded(outdated: readonly string[]): Recorded {
  return { names: [], steps: new Map(), cursors: new Map(), waits: new Set(), outdated };
}

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
class UnderWay {
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
