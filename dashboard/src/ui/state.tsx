import type { State } from '../api.js';

/** By colour and by word. */
export function StateBadge({ state }: { state: State | 'paused' }) {
  return <span class={`badge is-${state}`}>{state}</span>;
}
