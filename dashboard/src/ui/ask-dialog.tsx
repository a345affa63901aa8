import { useEffect, useRef, useState } from 'preact/hooks';
import { asked, outlookOf, perform, type Asked, type Outlook } from '../actions.js';
import { ApiFailure, type Action } from '../api.js';

/** Limits may be shared, and jobs of other functions may wait for one that is cancelled. */
const CONCERNS_OTHERS: readonly Action[] = ['limit-set', 'limit-reset', 'cancel'];

/** Asks before an action: says what it will do, and to how many. */
export function AskDialog() {
  const question = asked.value;
  return question ? <Question question={question} key={question.title} /> : null;
}

function Question({ question }: { question: Asked }) {
  const { request, title, says, verb, isDangerous } = question;
  const dialog = useRef<HTMLDialogElement>(null);
  const isBulk = request.which !== undefined;
  // More than what the title says: jobs that are counted, or other functions.
  const isAsked = isBulk || CONCERNS_OTHERS.includes(request.action);
  const [found, setFound] = useState<Outlook | undefined>();
  const [failure, setFailure] = useState<string | undefined>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    if (isAsked)
      outlookOf(request).then(setFound, (error: unknown) =>
        setFailure(error instanceof ApiFailure ? error.message : String(error)),
      );
    return () => opener instanceof HTMLElement && opener.focus();
  }, []);
  const close = () => (asked.value = undefined);
  const confirm = async () => {
    setBusy(true);
    await perform(question);
    close();
  };
  return (
    <dialog ref={dialog} aria-labelledby="ask-title" onClose={close}>
      <h2 id="ask-title">{title}</h2>
      <p>{says}</p>
      {isBulk && !failure && (
        <p aria-live="polite">
          {found === undefined
            ? 'Counting…'
            : found.jobs === undefined
              ? 'There are none any more.'
              : `This concerns ${found.jobs}.`}
        </p>
      )}
      {!failure && !isBulk && (found?.functions.length ?? 0) > 0 && (
        <p>It concerns all of these functions: {found?.functions.join(', ')}.</p>
      )}
      {failure && <p class="notice is-error">{failure}</p>}
      <div class="buttons">
        <button type="button" onClick={close}>
          {verb.startsWith('Cancel') ? 'Close' : 'Cancel'}
        </button>
        <button
          type="button"
          class={isDangerous ? 'danger primary' : 'primary'}
          disabled={
            isBusy || failure !== undefined || (isAsked && !found) || (isBulk && found?.jobs === undefined)
          }
          onClick={() => void confirm()}
          autofocus
        >
          {verb}
        </button>
      </div>
    </dialog>
  );
}
