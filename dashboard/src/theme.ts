import { effect, signal } from '@preact/signals';

export const THEMES = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];
const KEY = 'gearmonkey-theme';

export const theme = signal<Theme>(THEMES.find((one) => one === stored()) ?? 'auto');

effect(() => {
  document.documentElement.dataset['theme'] = theme.value;
  try {
    localStorage.setItem(KEY, theme.value);
  } catch {
    // The browser keeps nothing: the choice holds for this page.
  }
});

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
