import { GearMonkeyError } from './gearmonkey-error.js';

/** Jobs of a flow wait for each other in a circle, so none of them could begin. Nothing was written. */
export class FlowCycleError extends GearMonkeyError {
  readonly code = 'FLOW_CYCLE';

  constructor(
    /** The functions of the circle, in order; the first is also the last. */
    readonly functions: readonly string[],
  ) {
    const shown = functions.length > 10 ? [...functions.slice(0, 9), '…', functions.at(-1)] : functions;
    super(
      `The jobs of this flow wait for each other in a circle: ${shown.join(' → ')}. ` +
        'Leave one of them out of the `children` of another.',
    );
  }
}

/** A flow has more jobs, or more children in all, than the limit. Nothing was written. */
export class FlowTooLargeError extends GearMonkeyError {
  readonly code = 'FLOW_TOO_LARGE';

  constructor(
    readonly what: 'jobs' | 'children',
    readonly limit: number,
  ) {
    super(
      `The flow has more than ${limit} ${what}. Split it: a job of it may make another flow when it runs.`,
    );
  }
}

/** A job that `after` names does not exist. Nothing was written. */
export class UnknownParentError extends GearMonkeyError {
  readonly code = 'UNKNOWN_PARENT';

  constructor(
    readonly fn: string,
    readonly id: string,
  ) {
    super(
      `There is no job ${id} of "${fn}" that another could wait for: it never existed, or it has ended and is no longer kept.`,
    );
  }
}

/** A job that this one waited for is no longer kept, so its output can't be read. */
export class ParentLostError extends GearMonkeyError {
  readonly code = 'PARENT_LOST';

  constructor(
    readonly fn: string,
    readonly id: string,
  ) {
    super(
      `Job ${id} of "${fn}", which this job waited for, is no longer kept. Parents are kept until all jobs that wait for them ` +
        'have ended; a job that is retried later finds them only as long as `keep` says.',
    );
  }
}

/** The functions of a flow are on several nodes of a Redis Cluster, which can't change them together. Nothing was written. */
export class FlowSlotsError extends GearMonkeyError {
  readonly code = 'FLOW_SLOTS';

  constructor(readonly functions: readonly [string, string]) {
    const [one, other] = functions;
    super(
      `"${one}" and "${other}" are in different slots of the Redis Cluster, so their jobs can't wait for each other. ` +
        `Give them a hash tag in common: "{flow}:${one}" and "{flow}:${other}".`,
    );
  }
}
