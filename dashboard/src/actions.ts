import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { act, ApiFailure, type ActReply, type ActRequest, type BulkView } from './api.js';
import { count, many } from './format.js';

/** Something that is about to be done: a dialog asks first. */
export interface Asked {
  readonly request: ActRequest;
  /** What it does, such as `Retry all failed jobs of mail`. */
  readonly title: string;
  /** What that means, and whether it can be taken back. */
  readonly says: string;
  /** Of the button. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  /** Called when it is done. */
  readonly done?: (reply: ActReply) => void;
}

export const asked = signal<Asked | undefined>(undefined);
/** What was done or failed last, read aloud by screen readers. */
export const report = signal<{ readonly text: string; readonly isError: boolean } | undefined>(undefined);
/** Runs over many jobs that were begun here, by their ids. */
export const bulks = signal<ReadonlyMap<string, BulkView | undefined>>(new Map());

export function ask(question: Asked): void {
  asked.value = question;
}

export function say(text: string, isError = false): void {
  report.value = { text, isError };
}

/** Does it, and says what came of it. */
export async function perform({ request, title, done }: Asked): Promise<void> {
  try {
    const reply = await act(request);
    if (reply.bulk !== undefined) bulks.value = new Map(bulks.value).set(reply.bulk, undefined);
    if (reply.changed === false) say(`${title}: there was nothing to do any more.`);
    else say(reply.bulk === undefined ? `${title}: done.` : `${title}: begun.`);
    done?.(reply);
  } catch (error) {
    say(`${title}: ${error instanceof ApiFailure ? error.message : String(error)}`, true);
  }
}

/** What would happen: to how many, undefined if to none, and to which functions if to several. */
export interface Outlook {
  readonly jobs: string | undefined;
  readonly functions: readonly string[];
}

export async function outlookOf(request: ActRequest): Promise<Outlook> {
  const reply = await act({ ...request, dry: true });
  const { count: found = 0, atLeast, atMost, looked, functions = [] } = reply;
  if (found === 0 && !atLeast) return { jobs: undefined, functions };
  const jobs = `${atLeast ? 'at least ' : atMost ? 'at most ' : ''}${many(found, 'job')}`;
  return {
    jobs: looked === undefined ? jobs : `${jobs}: ${count(found)} of the newest ${count(looked)}`,
    functions,
  };
}

/** Calls `reload` when a run over many jobs of a function has ended. */
export function useAfterBulks(i: string, fn: string, reload: () => void): void {
  const ended = [...bulks.value.values()].filter(
    (one) => one?.i === i && one.fn === fn && one.state !== 'running',
  );
  useEffect(() => {
    if (ended.length > 0) reload();
  }, [ended.length]);
}
