import type { Finding } from './finding.js';

/** A finding that may only be a moment of a busy system: it counts if it is there at a second look. */
export interface Suspicion {
  readonly code: string;
  /** What it concerns, such as ids. One without ids concerns the function. */
  readonly ids: readonly string[];
  /** The finding, of those ids that were found twice. */
  finding(ids: readonly string[]): Finding;
}

/** The findings of suspicions that two looks have in common. */
export function confirmed(first: readonly Suspicion[], second: readonly Suspicion[]): Finding[] {
  return second.flatMap((suspicion) => {
    const before = first.find(({ code }) => code === suspicion.code);
    if (!before) return [];
    const ids = suspicion.ids.filter((id) => before.ids.includes(id));
    return suspicion.ids.length > 0 && ids.length === 0 ? [] : [suspicion.finding(ids)];
  });
}

/** A suspicion without ids. */
export function plainly(finding: Finding): Suspicion {
  return { code: finding.code, ids: [], finding: () => finding };
}
