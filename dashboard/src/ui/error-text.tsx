import type { ErrorView } from '../api.js';

/** An error, its stack and what caused it. */
export function ErrorText({ error: { name, message, code, stack, cause } }: { error: ErrorView }) {
  return (
    <div class="error-text">
      <p class="is-bad">
        <strong>{name}</strong>
        {code !== undefined && <code> {code}</code>}: {message}
      </p>
      {stack !== undefined && <pre tabIndex={0}>{stack}</pre>}
      {cause && (
        <details>
          <summary>
            Caused by {cause.name}: {cause.message}
          </summary>
          <ErrorText error={cause} />
        </details>
      )}
    </div>
  );
}
