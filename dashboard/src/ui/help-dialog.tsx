import { useEffect, useRef } from 'preact/hooks';
import { helpIsOpen, PLACES } from '../keys.js';

const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'search'],
  ['j, k', 'next or previous row'],
  ['Enter', 'open the row'],
  ...PLACES.map(([key, , name]) => [`g ${key}`, `go to ${name}`] as const),
  ['?', 'this list'],
  ['Esc', 'close'],
];

export function HelpDialog() {
  return helpIsOpen.value ? <Help /> : null;
}

function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => (helpIsOpen.value = false);
  return (
    <dialog ref={dialog} aria-labelledby="help-title" onClose={close}>
      <h2 id="help-title">Keyboard</h2>
      <dl class="keys">
        {KEYS.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <div class="buttons">
        <button type="button" class="primary" onClick={close} autofocus>
          Close
        </button>
      </div>
    </dialog>
  );
}
