import {
  readLines,
  type Call,
  type Cancel,
  type End,
  type Enqueued,
  type FlowNote,
  type Result,
  type Start,
  type StepNote,
  type Unsure,
} from './history.js';

/** What our processes wrote down. */
export interface Recorded {
  readonly enqueued: Enqueued[];
  readonly unsure: Unsure[];
  readonly starts: Start[];
  readonly ends: End[];
  readonly cancels: Cancel[];
  readonly results: Result[];
  readonly calls: Call[];
  readonly steps: StepNote[];
  readonly recorded: StepNote[];
  readonly flows: FlowNote[];
}

const LIST_OF = {
  enqueued: 'enqueued',
  unsure: 'unsure',
  start: 'starts',
  end: 'ends',
  cancel: 'cancels',
  result: 'results',
  call: 'calls',
  step: 'steps',
  recorded: 'recorded',
  flow: 'flows',
} as const satisfies Record<string, keyof Recorded>;

/** The history files of all lives, sorted by what they tell. */
export function gather(files: readonly { readonly process: string; readonly path: string }[]): Recorded {
  const recorded: Recorded = {
    ...{ enqueued: [], unsure: [], starts: [] },
    ...{ ends: [], cancels: [], results: [], calls: [] },
    ...{ steps: [], recorded: [], flows: [] },
  };
  for (const { process, path } of files) {
    for (const line of readLines(path)) {
      const list = LIST_OF[line['e'] as keyof typeof LIST_OF];
      if (list) (recorded[list] as object[]).push({ ...line, process });
    }
  }
  return recorded;
}
