import './style.css';
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { signedOut, type Ability } from './api.js';
import { HelpDialog } from './ui/help-dialog.js';
import { helpIsOpen, listenForKeys } from './keys.js';
import { go, href, route, type View } from './route.js';
import { can, instanceName, openSession, session, sessionError } from './session.js';
import { theme, THEMES } from './theme.js';
import { keepTitle } from './title.js';
import { LiveBadge, StreamNotice } from './ui/currency.js';
import { AskDialog } from './ui/ask-dialog.js';
import { Notice } from './ui/notice.js';
import { Reports } from './ui/report.js';
import { SignedOut } from './ui/signed-out.js';
import { Failures } from './views/failures.js';
import { FunctionPage } from './views/function.js';
import { JobPage } from './views/job.js';
import { Jobs } from './views/jobs.js';
import { Limits } from './views/limits.js';
import { Native } from './views/native.js';
import { Overview } from './views/overview.js';
import { Schedules } from './views/schedules.js';
import { Workers } from './views/workers.js';

const VIEWS: Readonly<Record<View, () => preact.ComponentChild>> = {
  overview: () => <Overview />,
  fn: () => <FunctionPage />,
  jobs: () => <Jobs />,
  job: () => <JobPage />,
  failures: () => <Failures />,
  schedules: () => <Schedules />,
  limits: () => <Limits />,
  workers: () => <Workers />,
  native: () => <Native />,
};

const MENU: readonly (readonly [view: View, name: string, needs: Ability])[] = [
  ['overview', 'Overview', 'overview'],
  ['failures', 'Failed', 'failures'],
  ['schedules', 'Schedules', 'schedules'],
  ['limits', 'Limits', 'limits'],
  ['workers', 'Workers', 'workers'],
  ['native', 'Tables', 'native'],
];

function Page() {
  useEffect(() => void openSession(), []);
  if (signedOut.value !== undefined) return <SignedOut why={signedOut.value} />;
  if (sessionError.value) return <Unopened />;
  if (!session.value) return <p class="dim loading">Loading…</p>;
  const { view } = route.value;
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Header />
      <main id="main" tabIndex={-1}>
        <StreamNotice />
        {VIEWS[view]()}
      </main>
      <Reports />
      <AskDialog />
      <HelpDialog />
    </>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function Unopened() {
  return (
    <main id="main">
      <Notice isError>
        {sessionError.value?.message}{' '}
        <button type="button" class="link" onClick={() => location.reload()}>
          Reload
        </button>
      </Notice>
    </main>
  );
}

function Header() {
  const { title = '', user, readOnly, instances = [] } = session.value ?? {};
  const i = instanceName.value;
  const { view, query } = route.value;
  return (
    <header>
      <a class="title" href={href('overview', { i: query['i'] })}>
        {title}
      </a>
      {instances.length > 1 && (
        <select
          aria-label="Instance"
          value={i}
          onChange={({ currentTarget }) => go('overview', { i: currentTarget.value })}
        >
          {instances.map(({ name, system }) => (
            <option key={name} value={name}>
              {name === system ? name : `${name} (${system})`}
            </option>
          ))}
        </select>
      )}
      <nav aria-label="Views">
        {MENU.filter(([, , needs]) => can(needs)).map(([to, name]) => (
          <a key={to} href={href(to, { i: query['i'] })} aria-current={to === view ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <span class="aside">
        {readOnly && <span class="badge">read-only</span>}
        <LiveBadge />
        {user !== undefined && user !== '' && <span class="dim user">{user}</span>}
        <select
          aria-label="Theme"
          value={theme.value}
          onChange={({ currentTarget }) =>
            (theme.value = THEMES.find((one) => one === currentTarget.value) ?? 'auto')
          }
        >
          {THEMES.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <button type="button" aria-label="Keyboard help" onClick={() => (helpIsOpen.value = true)}>
          ?
        </button>
      </span>
    </header>
  );
}

listenForKeys();
keepTitle();
const place = document.getElementById('app');
if (place) render(<Page />, place);
