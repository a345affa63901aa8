import { signal } from '@preact/signals';
import { asked } from './actions.js';
import { go, route, type View } from './route.js';

export const helpIsOpen = signal(false);

/** `g`, then a letter. */
export const PLACES: readonly (readonly [key: string, view: View, name: string])[] = [
  ['o', 'overview', 'the overview'],
  ['f', 'failures', 'failed jobs'],
  ['s', 'schedules', 'schedules'],
  ['l', 'limits', 'limits'],
  ['w', 'workers', 'workers'],
];

let isGoing = false;

export function listenForKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || asked.value || isTyping(event.target)) return;
    const place = isGoing && PLACES.find(([key]) => key === event.key);
    isGoing = event.key === 'g';
    if (place) go(place[1], kept());
    else if (event.key === '/') focus('[data-search]');
    else if (event.key === '?') helpIsOpen.value = true;
    else if (event.key === 'j' || event.key === 'k') moveFocus(event.key === 'j' ? 1 : -1);
    else return;
    event.preventDefault();
  });
}

/** The instance stays when the view changes. */
function kept(): Record<string, string> {
  const { i } = route.value.query;
  return i === undefined ? {} : { i };
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

function focus(selector: string): void {
  const found = document.querySelector<HTMLElement>(selector);
  found?.focus();
  if (found instanceof HTMLInputElement) found.select();
}

/** To the next row of the list, or the first. */
function moveFocus(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')];
  const at = rows.findIndex((row) => row === document.activeElement);
  const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}
