import type { Action } from '../api.js';
import { ActButton } from '../ui/act-button.js';

interface Verb {
  readonly verb: string;
  readonly says: string;
  readonly isDangerous?: true;
}

const VERBS: Partial<Record<Action, Verb>> = {
  run: { verb: 'Run', says: 'It waits from now on, and runs as soon as a worker is free.' },
  retry: {
    verb: 'Retry',
    says: 'What has failed starts over: this one, or all that the row stands for, at most 1,000 at once.',
  },
  cancel: { verb: 'Cancel', says: 'It will not be run, if it has not begun.', isDangerous: true },
  discard: {
    verb: 'Discard',
    says: "What has ended is deleted: this one, or all that the row stands for, at most 1,000 at once. This can't be taken back.",
    isDangerous: true,
  },
  pause: { verb: 'Pause', says: 'Workers begin no more of its jobs until it is resumed.' },
  resume: { verb: 'Resume', says: 'Workers begin its jobs again, at once.' },
};

interface Props {
  readonly fn: string;
  readonly view: string;
  /** The key of the row. */
  readonly of: string;
  readonly may: readonly Action[];
  readonly done: () => void;
}

/** What can be done to a row of qless, JQ or jobd. */
export function RowActions({ fn, view, of, may, done }: Props) {
  return (
    <>
      {may.map((action) => {
        const found = VERBS[action];
        return (
          found && (
            <ActButton
              key={action}
              {...found}
              {...{ done, title: `${found.verb} ${of}` }}
              request={{ action, fn, row: { view, key: of } }}
            />
          )
        );
      })}
    </>
  );
}
