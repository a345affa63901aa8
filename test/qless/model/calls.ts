import type { Call, Calls } from './call.js';
import { CLAIM_CALLS, stall } from './claim-calls.js';
import type { CoreModel } from './core-model.js';
import { JOB_CALLS, withDependents } from './job-calls.js';
import { QUEUE_CALLS } from './queue-calls.js';
import type { Late, Step } from './steps.js';

const CALLS: Calls = { ...CLAIM_CALLS, ...JOB_CALLS, ...QUEUE_CALLS };

export function callOf(model: CoreModel, now: number, { do: kind, ...given }: Step): Call {
  const call = CALLS[kind] as (model: CoreModel, now: number, given: object) => Call;
  return call(model, now, given);
}

/** Does at once what a call with very many jids leaves to later ones. The jids that it leaves. */
export function leaveOver(model: CoreModel, { set, jids }: Late): string[] {
  if (set === 'stalling') {
    const running = jids.filter((jid) => model.jobs.get(jid)?.state === 'running');
    for (const jid of running) stall(model, model.existing(jid));
    return running;
  }
  const all = withDependents(model, jids).filter((jid) => model.jobs.get(jid)?.state !== 'complete');
  for (const jid of all) if (model.jobs.has(jid)) model.remove(model.existing(jid));
  return all;
}
