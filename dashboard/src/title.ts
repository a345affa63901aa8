import { effect } from '@preact/signals';
import { route, type Route, type View } from './route.js';
import { instance, session } from './session.js';

type Query = Route['query'];

const of = (what: string, fn: string | undefined) => (fn === undefined ? what : `${what} of ${fn}`);

/** What a view shows, so that tabs, bookmarks and the history can be told apart. */
const TITLES: Readonly<Record<View, (query: Query) => string>> = {
  overview: () => 'Overview',
  fn: ({ fn = '' }) => fn,
  job: ({ fn = '', id = '' }) => `${fn} ${id}`,
  jobs: ({ fn = '', state = 'waiting', tag, key, id }) => {
    if (tag !== undefined) return `${fn}: jobs with the tag ${tag}`;
    if (key !== undefined) return `${fn}: jobs with the key ${key}`;
    return id === undefined ? `${fn}: ${state} jobs` : `${fn}: job ${id}`;
  },
  failures: ({ fn }) => of('Failed jobs', fn),
  schedules: ({ fn }) => of('Schedules', fn),
  limits: ({ fn }) => of('Limits', fn),
  workers: ({ fn }) => of('Workers', fn),
  native: ({ view, key }) => {
    const { system = '', native: [first] = [] } = instance.value ?? {};
    return [key, view ?? first, system].filter((part) => part !== undefined).join(' · ');
  },
};

/** Keeps the title of the document: the view first, then the instance if there are several, then the app's title. */
export function keepTitle(): void {
  effect(() => {
    const { title, instances = [] } = session.value ?? {};
    if (title === undefined) return;
    const { view, query } = route.value;
    const parts = [TITLES[view](query), ...(instances.length > 1 ? [instance.value?.name] : []), title];
    document.title = parts.join(' · ');
  });
}
