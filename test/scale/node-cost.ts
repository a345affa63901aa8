/** What a job costs in Node, counted: nearly the same on any machine. */
export interface NodeCost {
  readonly promises: number;
  /** Bytes that are allocated, also those that are freed at once. */
  readonly bytes: number;
}

/** What is measured, with how many jobs in a round. */
export const CASES = {
  'enqueue, one at a time': { jobs: 400 },
  'enqueue, 100 at a time': { jobs: 3000 },
  'enqueue in bulk by 1000': { jobs: 5000 },
  'call, one at a time': { jobs: 300 },
  'run, one at a time': { jobs: 2000 },
  'run, 100 at a time': { jobs: 3000 },
} as const;

export type Case = keyof typeof CASES;

export interface NodeFigures {
  readonly cases: Record<Case, NodeCost>;
  /** How many functions of this package one plain job is passed through, and in how many files they stand. */
  readonly reach: Record<Way, { readonly functions: number; readonly files: number }>;
}

/** A job that is only enqueued and run, and one whose client waits for its result. */
type Way = 'run' | 'call';

/** How far a figure may be above its budget. */
const SLACK = { promises: 0.03, bytes: 0.05, functions: 0.03, files: 0.03 };

const RECORD = 'RECORD_BUDGETS=1 npm test -- test/scale/node-budget';

/** Says what is wrong with figures, for the author of a change of the hot path; empty if they keep their budgets. */
export function judge(figures: NodeFigures, budget: NodeFigures): string[] {
  return [
    ...Object.keys(CASES).flatMap((name) =>
      compare(name, figures.cases[name as Case], budget.cases[name as Case]),
    ),
    ...compare('reach of a run', figures.reach.run, budget.reach.run),
    ...compare('reach of a call', figures.reach.call, budget.reach.call),
  ];
}

export function isWithin(figure: keyof typeof SLACK, cost: number, budget: number): boolean {
  return cost <= budget * (1 + SLACK[figure]);
}

function compare<Cost extends object>(name: string, cost: Cost, budget: Cost | undefined): string[] {
  if (!budget) return [`${name} has no budget. Record one: ${RECORD}`];
  return (Object.keys(cost) as (keyof Cost & keyof typeof SLACK)[]).flatMap((figure) => {
    const [is, was, slack] = [Number(cost[figure]), Number(budget[figure]), SLACK[figure]];
    const said = `${name}: ${round(is)} ${figure}, and the budget is ${was}.`;
    if (!isWithin(figure, is, was))
      return [
        `${said} A job that does not use a feature pays nothing for it. If it has to, record it: ${RECORD}`,
      ];
    if (is < was * (1 - 2 * slack)) return [`${said} Keep it so, record it: ${RECORD}`];
    return [];
  });
}

/** The lower figures of two: how many jobs share a call, and so what each pays, depends on what else the machine does. */
export function cheaper(one: NodeFigures, other: NodeFigures): NodeFigures {
  const lower = <Cost extends object>(a: Cost, b: Cost) =>
    Object.fromEntries(
      Object.entries(a).map(([figure, value]) => [
        figure,
        Math.min(value as number, b[figure as keyof Cost] as number),
      ]),
    ) as Cost;
  const cases = Object.keys(CASES).map((name) => [
    name,
    lower(one.cases[name as Case], other.cases[name as Case]),
  ]);
  return {
    cases: Object.fromEntries(cases) as NodeFigures['cases'],
    reach: {
      run: lower(one.reach.run, other.reach.run),
      call: lower(one.reach.call, other.reach.call),
    },
  };
}

export function rounded({ cases, reach }: NodeFigures): NodeFigures {
  const each = Object.entries(cases).map(([name, { promises, bytes }]) => [
    name,
    { promises: round(promises), bytes: round(bytes) },
  ]);
  return { cases: Object.fromEntries(each) as NodeFigures['cases'], reach };
}

function round(value: number): number {
  return Number(value.toPrecision(4));
}
