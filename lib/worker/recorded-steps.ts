import type { Claim } from '../job/job-source.js';
import { waitField } from '../job/signals.js';
import {
  cursorField,
  readStep,
  readStepList,
  stepField,
  STEPS_FIELD,
  type StepRecords,
  type StoredStep,
} from '../job/steps.js';

/** What earlier runs of a job have recorded. */
export interface Recorded {
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
export async function readRecorded({
  claim,
  records,
  version,
}: {
  readonly claim: Claim;
  readonly records: StepRecords | undefined;
  readonly version: string;
}): Promise<Recorded> {
  if (!records || claim.token % MARK === 1) return nothing([]);
  const list = readStepList((await records.read(claim, [STEPS_FIELD])).get(STEPS_FIELD));
  if (!list || list.names.length === 0) return nothing([]);
  const { names } = list;
  const fields = names.flatMap((name) => [stepField(name), cursorField(name), waitField(name)]);
  if (list.version !== version) return nothing(fields);
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
export function has({ steps, cursors, waits }: Recorded, name: string): boolean {
  return steps.has(name) || cursors.has(name) || waits.has(name);
}

function nothing(outdated: readonly string[]): Recorded {
  return { names: [], steps: new Map(), cursors: new Map(), waits: new Set(), outdated };
}
