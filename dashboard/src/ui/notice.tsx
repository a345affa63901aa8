import type { ComponentChildren } from 'preact';
import { now } from '../clock.js';
import { span } from '../format.js';
import type { Loaded } from '../load.js';

export function Notice({ children, isError = false }: { children: ComponentChildren; isError?: boolean }) {
  return (
    <p class={isError ? 'notice is-error' : 'notice'} role={isError ? 'alert' : undefined}>
      {children}
    </p>
  );
}

/** What was read, or why not. An error does not hide what was read before. */
export function Read<T>({ from, children }: { from: Loaded<T>; children: (data: T) => ComponentChildren }) {
  const { data, error, at, reload } = from;
  return (
    <>
      {error && (
        <Notice isError>
          {error.message} {at !== undefined && `What is shown is ${span(Math.max(0, now.value - at))} old. `}
          <button type="button" class="link" onClick={reload}>
            Try again
          </button>
        </Notice>
      )}
      {data === undefined ? !error && <p class="dim loading">Loading…</p> : children(data)}
    </>
  );
}
