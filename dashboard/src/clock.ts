import { signal } from '@preact/signals';

/** The time, for what is shown relative to it: moves once a second while somebody looks. */
export const now = signal(Date.now());

setInterval(() => {
  if (document.visibilityState === 'visible') now.value = Date.now();
}, 1000);
