import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { go, route } from '../route.js';
import { instanceName } from '../session.js';

/** Finds jobs by `ID`, `tag:TEXT` or `key:TEXT`. */
export function Search({ fn }: { fn: string }) {
  const { tag, key, id } = route.value.query;
  const now = tag !== undefined ? `tag:${tag}` : key !== undefined ? `key:${key}` : (id ?? '');
  const text = useSignal(now);
  useEffect(() => void (text.value = now), [now]);
  const find = (event: Event) => {
    event.preventDefault();
    const asked = text.value.trim();
    const i = instanceName.value;
    const [, by, value = ''] = /^(tag|key):(.*)$/s.exec(asked) ?? [];
    if (asked === '') go('jobs', { i, fn });
    else if (by) go('jobs', { i, fn, [by]: value });
    else if (/^\d+$/.test(asked)) go('job', { i, fn, id: asked });
    else go('jobs', { i, fn, tag: asked });
  };
  return (
    <form role="search" class="search" onSubmit={find}>
      <input
        type="search"
        data-search
        aria-label="Find jobs by id, tag or key"
        placeholder="ID, tag:… or key:…"
        value={text.value}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
      />
      <button type="submit">Find</button>
    </form>
  );
}
