import type { CoreModel } from './core-model.js';
import type { Kind, StepOf } from './steps.js';

export type Arg = string | number;

/** What is sent, and what the model makes of it: the reply, as `read` gives it, or that it is refused. */
export interface Call {
  readonly command: string;
  readonly args: readonly Arg[];
  readonly expected: () => unknown;
  readonly read?: (reply: unknown) => unknown;
}

export type Calls = { [Name in Kind]: (model: CoreModel, now: number, step: StepOf<Name>) => Call };

export const jidsOf = (reply: unknown) => {
  const jobs: unknown = JSON.parse(String(reply));
  return Array.isArray(jobs) ? (jobs as { jid: string }[]).map(({ jid }) => jid) : [];
};

export const options = (given: Record<string, Arg | undefined>): Arg[] =>
  Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name, value]));

/** An argument that may be left out at the end. */
export const atEnd = (value: string | undefined): string[] => (value === undefined ? [] : [value]);

export const json = (value: unknown) => (value === undefined ? undefined : JSON.stringify(value));
