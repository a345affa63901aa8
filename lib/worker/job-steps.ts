import { payloadBytes, read, write, type Codec, type Payload } from '../job/codec.js';
import { ConfigurationError, InvalidOptionError } from '../job/errors.js';
import type { Claim } from '../job/job-source.js';
import { DuplicateStepError, StepsChangedError, StepTooLargeError } from '../job/step-errors.js';
import { JobCursor } from './job-cursor.js';
import {
  cursorField,
  isStepName,
  MAX_STEP_NAME,
  MAX_STEPS,
  readStep,
  readStepList,
  stepField,
  STEPS_FIELD,
  writeStep,
  writeStepList,
  type StepRecords,
  type StoredStep,
} from '../job/steps.js';

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
}

/** What earlier runs of a job have recorded. */
interface Recorded {
  readonly names: readonly string[];
  readonly steps: ReadonlyMap<string, StoredStep>;
  readonly cursors: ReadonlyMap<string, Uint8Array>;
  /** Fields of another version: the next write removes them. */
  outdated: readonly string[];
}

/** Tokens are multiples of this, plus how often the job was claimed. */
const MARK = 1_000_000;
const NOTHING: Omit<Recorded, 'outdated'> = { names: [], steps: new Map(), cursors: new Map() };

/** The steps of one run of a job. */
export class JobSteps {
  private readonly called: string[] = [];
  private recorded?: Promise<Recorded>;
  private readonly cursors: { flush(): Promise<void> }[] = [];

  constructor(private readonly options: JobStepsOptions) {}

  /** The output of a step: the recorded one, or that of `run`, which is recorded. */
  async run<Output>(name: string, run: () => Output | Promise<Output>): Promise<Output> {
    const index = this.call(name);
    const recorded = await (this.recorded ??= this.read());
    this.checkOrder(recorded, index);
    const known = recorded.steps.get(name);
    if (known) return this.decode(known.output) as Output;
    if (recorded.cursors.has(name)) this.changed(`"${name}" was a cursor`);
    await this.flush();
    this.options.goOn();
    const started = this.options.now();
    const output = this.encode(name, await run());
    await this.record(recorded, stepField(name), writeStep(started, this.options.now(), output));
    return this.decode(typeof output === 'string' ? Buffer.from(output) : output) as Output;
  }

  /** A place in a loop: the recorded one, or `start`. */
  async cursor<Value>(
    name: string,
    start: Value,
    codec: Codec = this.options.codec,
  ): Promise<JobCursor<Value>> {
    const index = this.call(name);
    const recorded = await (this.recorded ??= this.read());
    this.checkOrder(recorded, index);
    if (recorded.steps.has(name)) this.changed(`"${name}" was a step`);
    const known = recorded.cursors.get(name);
    const cursor = new JobCursor<Value>({
      value: known ? (this.decode(known, codec) as Value) : start,
      encode: (value) => {
        const output = this.encode(name, value, codec);
        return () => this.record(recorded, cursorField(name), output);
      },
      now: this.options.now,
      afterAdvance: async (flush) => {
        if (this.options.isEnding()) await flush();
        this.options.goOn();
      },
    });
    this.cursors.push(cursor);
    return cursor;
  }

  /** Writes the places of all cursors. */
  async flush(): Promise<void> {
    await Promise.all(this.cursors.map((cursor) => cursor.flush()));
  }

  /** Called when the handler has ended. @throws StepsChangedError if it left out a step that was recorded */
  async end(): Promise<void> {
    const recorded = await this.recorded;
    const left = recorded?.names.slice(this.called.length).find((name) => has(recorded, name));
    if (left !== undefined) this.changed(`"${left}" is gone`);
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

  private async read(): Promise<Recorded> {
    const { claim, records, version } = this.options;
    if (!records || claim.token % MARK === 1) return { ...NOTHING, outdated: [] };
    const list = readStepList((await records.read(claim, [STEPS_FIELD])).get(STEPS_FIELD));
    if (!list || list.names.length === 0) return { ...NOTHING, outdated: [] };
    const fields = list.names.flatMap((name) => [stepField(name), cursorField(name)]);
    if (list.version !== version) return { ...NOTHING, outdated: fields };
    const stored = await records.read(claim, fields);
    const steps = list.names.flatMap((name) => {
      const step = readStep(stored.get(stepField(name)));
      return step ? [[name, step] as const] : [];
    });
    const cursors = list.names.flatMap((name) => {
      const value = stored.get(cursorField(name));
      return value ? [[name, value] as const] : [];
    });
    return { names: list.names, steps: new Map(steps), cursors: new Map(cursors), outdated: [] };
  }

  /** Steps that were called and not recorded may change: nothing depends on them. */
  private checkOrder(recorded: Recorded, index: number): void {
    const { names } = recorded;
    const name = this.called[index] ?? '';
    const before = names[index];
    if (before === name) return;
    if (before !== undefined && has(recorded, before)) this.changed(`"${name}" stands where "${before}" was`);
    if (has(recorded, name))
      this.changed(`"${name}" stood at place ${names.indexOf(name) + 1}, now at ${index + 1}`);
  }

  private changed(found: string): never {
    const { fn, id } = this.options.claim;
    throw new StepsChangedError(fn, id, found);
  }

  private async record(recorded: Recorded, field: string, value: Payload): Promise<void> {
    const { claim, records, version, onLost } = this.options;
    const list = writeStepList({ version, names: this.called });
    const fields = new Map<string, Payload>([
      [STEPS_FIELD, list],
      [field, value],
    ]);
    const removed = recorded.outdated;
    recorded.outdated = [];
    if (!(await records?.write(claim, fields, removed))) onLost();
  }

  private encode(name: string, value: unknown, codec = this.options.codec): Payload {
    const { claim, maxStepBytes } = this.options;
    const output = write(codec, claim.fn, 'step output', value);
    const bytes = payloadBytes(output);
    if (bytes > maxStepBytes) throw new StepTooLargeError(claim.fn, name, bytes, maxStepBytes);
    return output;
  }

  private decode(bytes: Uint8Array, codec = this.options.codec): unknown {
    return read(codec, this.options.claim.fn, 'step output', bytes);
  }
}

/** Whether something depends on this name. */
function has({ steps, cursors }: Recorded, name: string): boolean {
  return steps.has(name) || cursors.has(name);
}
