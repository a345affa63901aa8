import { useSignal } from '@preact/signals';
import { act, ApiFailure, type InstanceView } from '../api.js';
import { say } from '../actions.js';
import { instanceName } from '../session.js';

/** Enqueues a job of qless, JQ or jobd, in the words of the system. */
export function RunNative({ names }: { names: NonNullable<InstanceView['run']> }) {
  const fn = useSignal('');
  const kind = useSignal('');
  const input = useSignal('');
  const run = async (event: Event) => {
    event.preventDefault();
    try {
      const text = input.value.trim() === '' ? 'null' : input.value;
      const asked = { i: instanceName.value, action: 'run', fn: fn.value, input: text } as const;
      const { id = '' } = await act({ ...asked, ...(kind.value !== '' && { kind: kind.value }) });
      say(`${id} of ${fn.value} is enqueued.`);
    } catch (error) {
      say(error instanceof ApiFailure ? error.message : String(error), true);
    }
  };
  const field = (name: string, value: typeof fn, isNeeded: boolean) => (
    <label>
      {name}{' '}
      <input
        type="text"
        required={isNeeded}
        value={value.value}
        onInput={({ currentTarget }) => (value.value = currentTarget.value)}
      />
    </label>
  );
  return (
    <section aria-labelledby="run-title">
      <h2 id="run-title">Run a job</h2>
      <form onSubmit={(event) => void run(event)}>
        <div class="row">
          {field(names.fn, fn, true)}
          {names.kind !== undefined && field(names.kind, kind, false)}
        </div>
        <label>
          {names.input}, as JSON
          <textarea
            rows={3}
            spellcheck={false}
            placeholder="{}"
            value={input.value}
            onInput={({ currentTarget }) => (input.value = currentTarget.value)}
          />
        </label>
        <div class="row">
          <button type="submit" class="primary">
            Run
          </button>
        </div>
      </form>
    </section>
  );
}
