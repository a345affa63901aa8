import type { FlowMemberView, FlowView } from '../../lib/dashboard/api.js';

export interface JobName {
  readonly fn: string;
  readonly id: string;
}

/** A job of a flow, and those that it waited for. */
export interface FlowJob extends JobName, Pick<FlowMemberView, 'state'> {
  readonly parents: readonly JobName[];
}

/** The jobs of an answer, with the names of their functions. */
export function jobsOf({ functions, members }: FlowView): FlowJob[] {
  const name = (fn: number, id: string) => ({ fn: functions[fn] ?? '', id });
  return members.map(({ fn, id, state, parents }) => ({
    ...name(fn, id),
    ...{ state, parents: parents.map((parent) => name(...parent)) },
  }));
}
