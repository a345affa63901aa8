import { type Codec, codecOf, read } from '../job/codec.js';
import type { Claim, JobSource } from '../job/job-source.js';
import { DEFAULT_MAX_STEP_BYTES } from '../job/steps.js';
import { showAs, recordsOf } from '../job/show-as.js';
import { JobSteps } from './job-steps.js';
import { JobStreams } from './job-streams.js';
import { ConfigurationError } from '../job/errors.js';
import { ParentLostError } from '../job/flow-errors.js';
import type { ParentJob, ParentRecords, RecordedParent } from '../job/flows.js';
import { functionName, type FunctionRef } from '../job/job-definition.js';
import { defined } from '../job/defined.js';

/** What they need of their run. */
export interface RunOfParts {
  readonly claim: Claim;
  readonly source: Pick<JobSource, 'clock' | 'records'>;
  readonly codec: Codec;
  readonly limits: {
    readonly codec: Codec;
    readonly maxStepBytes?: number | undefined;
    readonly onLargeParents?: JobParentsOptions['onLarge'];
  };
  /** What the definition calls this order of steps; '' without. */
  readonly version: string;
  /** Whether the job is to go on elsewhere, from its next step on. */
  readonly endsAtStep: boolean;
  /** Throws if the job has to stop; gives it back first if it is to go on elsewhere. */
  goOn(): void;
  /** Gives the job back until one of the signals comes, for that long at most. */
  park(signals: readonly string[], delay: number): never;
  /** Another worker has the job. */
  onLost(): never;
}

/** The steps, streams and parents of one run. Each is made when its handler first asks for it, as most never do. */
export class JobParts {
  static {
    showAs(JobParts, () => ({}));
  }

  private madeSteps?: JobSteps;
  private madeStreams?: JobStreams;
  private madeParents?: JobParents;

  constructor(private readonly run: RunOfParts) {}

  get steps(): JobSteps {
    const { run } = this;
    return (this.madeSteps ??= new JobSteps({
      ...this.recording(),
      records: run.source.records?.steps,
      version: run.version,
      maxStepBytes: run.limits.maxStepBytes ?? DEFAULT_MAX_STEP_BYTES,
      isEnding: () => run.endsAtStep,
      goOn: () => run.goOn(),
      onLost: () => run.onLost(),
      flushStreams: async () => this.madeStreams?.flush(),
      park: (signals, delay) => run.park(signals, delay),
    }));
  }

  get streams(): JobStreams {
    const { run } = this;
    const records = run.source.records?.streams;
    return (this.madeStreams ??= new JobStreams({
      ...this.recording(),
      records,
      onLost: () => run.onLost(),
    }));
  }

  get parents(): JobParents {
    const { claim, codec, source, limits } = this.run;
    return (this.madeParents ??= new JobParents({
      ...{ claim, codec, defaultCodec: limits.codec },
      records: source.records?.parents,
      onLarge: limits.onLargeParents,
    }));
  }

  /** The handler has returned: what it has left is written. @throws what can't be */
  async end(): Promise<void> {
    await this.madeSteps?.end();
    await this.madeStreams?.flush();
  }

  /** The handler has thrown: the next attempt goes on from what can be written now. */
  async flush(): Promise<void> {
    await Promise.allSettled([this.madeSteps?.flush(), this.madeStreams?.flush()]);
  }

  private recording() {
    const { claim, source, codec } = this.run;
    return { claim, codec, now: () => source.clock?.now() ?? Date.now() };
  }
}

export interface JobParentsOptions {
  readonly claim: Claim;
  /** Absent in systems without flows. */
  readonly records: ParentRecords | undefined;
  /** That of the handler's function. */
  readonly codec: Codec;
  /** That of functions whose definition names none. */
  readonly defaultCodec: Codec;
  /** Called if their outputs are many bytes. @param bytes as they are stored; the values that they become need more */
  readonly onLarge?: ((claim: Claim, bytes: number, count: number) => void) | undefined;
}

/** The outputs of a job's parents that are no longer few, in bytes: one handler holds all at once, as bytes and as values. */
const LARGE_BYTES = 64 * 1024 * 1024;

const asParent = recordsOf<ParentJob>('ParentJob');

/** The jobs that one run of a job waited for. */
export class JobParents {
  static {
    showAs(JobParents, () => ({}));
  }

  private recorded?: Promise<readonly RecordedParent[]>;

  constructor(private readonly options: JobParentsOptions) {}

  /** Those of one function, or all. @throws ConfigurationError · ParentLostError · UnreadablePayloadError */
  async of(ref: FunctionRef | undefined): Promise<ParentJob[]> {
    const { claim, records } = this.options;
    if (!records)
      throw new ConfigurationError(
        `The handler of "${claim.fn}" called job.parents, which is for jobs of GearMonkey and memory.`,
      );
    const fn = ref === undefined ? undefined : functionName(ref);
    const own = typeof ref === 'object' && ref.codec ? codecOf(ref.codec) : undefined;
    this.recorded ??= this.read(records);
    const chosen = (await this.recorded).filter((parent) => fn === undefined || parent.fn === fn);
    return chosen.map((parent) => this.decode(parent, own));
  }

  private async read(records: ParentRecords): Promise<readonly RecordedParent[]> {
    const { claim, onLarge } = this.options;
    const parents = await records.parents(claim);
    const bytes = parents.reduce((sum, { output }) => sum + output.byteLength, 0);
    if (bytes > LARGE_BYTES) onLarge?.(claim, bytes, parents.length);
    return parents;
  }

  private decode({ fn, id, state, output, error }: RecordedParent, own: Codec | undefined): ParentJob {
    if (state === 'lost') throw new ParentLostError(fn, id);
    const { claim, codec, defaultCodec } = this.options;
    const used = own ?? (fn === claim.fn ? codec : defaultCodec);
    const value = state === 'succeeded' ? read(used, fn, 'output', output) : undefined;
    return asParent(defined({ fn, id, state, output: value, error }));
  }
}
