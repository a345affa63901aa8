import { signal } from '@preact/signals';

export const VIEWS = [
  ...(['overview', 'fn', 'jobs', 'job', 'failures'] as const),
  ...(['schedules', 'limits', 'workers', 'native'] as const),
];
export type View = (typeof VIEWS)[number];

/** What the page shows: all of it is in the address, so that it can be shared. */
export interface Route {
  readonly view: View;
  readonly query: Readonly<Record<string, string>>;
}

export const route = signal(parse(location.hash));

addEventListener('hashchange', () => {
  route.value = parse(location.hash);
});

function parse(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const view = VIEWS.find((one) => one === path) ?? 'overview';
  return { view, query: Object.fromEntries(new URLSearchParams(search)) };
}

export function href(view: View, query: Readonly<Record<string, string | undefined>> = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') search.set(name, value);
  const text = search.toString();
  return `#/${view === 'overview' ? '' : view}${text === '' ? '' : `?${text}`}`;
}

export function go(view: View, query: Readonly<Record<string, string | undefined>> = {}): void {
  location.hash = href(view, query);
}
