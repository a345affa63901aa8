import {
  instrumentation,
  traced,
  type LeaseEvent,
  type RunEnd,
  type RunEvent,
} from '../job/instrumentation.js';
import { JobCancelledError } from '../job/abort-errors.js';
import type { Claim, FreeSlots, JobSource, Outcome } from '../job/job-source.js';

type Named = Pick<JobSource, 'system' | 'address'>;

/** Claims, and publishes it. */
export function tracedClaim(
  source: Named & Pick<JobSource, 'claim'>,
  free: FreeSlots,
  signal: AbortSignal,
): Promise<readonly Claim[]> {
  return traced(
    instrumentation.claim,
    { ...nameOf(source), functions: free.functions() },
    () => source.claim(free, signal),
    (event, claims) => (event.claims = claims),
  );
}

/** Settles, and publishes it. Returns the claims whose outcome was refused. */
export function tracedSettle(
  source: Named & Pick<JobSource, 'settle'>,
  outcomes: readonly Outcome[],
): Promise<readonly Claim[]> {
  return traced(
    instrumentation.settle,
    { ...nameOf(source), outcomes },
    () => source.settle(outcomes),
    (event, refused) => (event.refused = refused),
  );
}

/** Publishes that a claim no longer holds. */
export function leaseEnded(source: Named, claim: Claim, state: LeaseEvent['state']): void {
  const { lease } = instrumentation;
  if (!lease.hasSubscribers) return;
  const event: LeaseEvent = { ...nameOf(source), claim, state };
  lease.start.publish(event);
  lease.end.publish(event);
}

/** Publishes one run of a handler. */
export class RunTrace {
  private readonly began = performance.now();
  private readonly event: RunEvent;

  constructor(source: Named, claim: Claim, attempt: number) {
    this.event = { ...nameOf(source), claim, attempt };
  }

  run(begin: () => void): void {
    const { event } = this;
    instrumentation.run.start.runStores(event, () => {
      if (event.runIn) event.runIn(begin);
      else begin();
      instrumentation.run.end.publish(event);
    });
  }

  /** @param reason why the claim no longer holds, if there is no outcome */
  ended(outcome: Outcome | undefined, reason: unknown): void {
    const { event } = this;
    event.end = outcome?.status ?? (reason instanceof JobCancelledError ? 'cancelled' : 'lost');
    event.duration = performance.now() - this.began;
    if (isFailure(event.end)) {
      event.error = outcome && 'error' in outcome ? outcome.error : reason;
      instrumentation.run.error.publish(event);
    }
    instrumentation.run.asyncStart.publish(event);
    instrumentation.run.asyncEnd.publish(event);
  }
}

/** Whether a run that ended so is an error. */
function isFailure(end: RunEnd): boolean {
  return end === 'error' || end === 'retry' || end === 'lost';
}

function nameOf({ system = 'other', address }: Named): { system: string; server: string | undefined } {
  return { system, server: address };
}
