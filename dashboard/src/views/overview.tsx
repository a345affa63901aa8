import { useSignal } from '@preact/signals';
import type { FunctionView } from '../api.js';
import { functions, heard, troubles, useFunctions, waitingOf } from '../functions.js';
import { count, many, short, span } from '../format.js';
import { now } from '../clock.js';
import { refusal } from '../live/live.js';
import { href } from '../route.js';
import { can, instanceName } from '../session.js';
import { Name } from '../ui/name.js';
import { Notice } from '../ui/notice.js';
import { StateBadge } from '../ui/state.js';
import { Age } from '../ui/time.js';
import { StatisticsSection } from './statistics-section.js';

type Column = keyof typeof COLUMNS;
const COLUMNS = {
  Function: ({ fn }: FunctionView) => fn,
  Waiting: waitingOf,
  // Among the first, so that a narrow screen shows it.
  Failed: ({ failed = 0 }: FunctionView) => failed,
  Oldest: ({ oldest }: FunctionView) => (oldest === undefined ? 0 : Date.now() - new Date(oldest).getTime()),
  Running: ({ running = 0 }: FunctionView) => running,
  Scheduled: ({ scheduled = 0 }: FunctionView) => scheduled,
  Retrying: ({ retrying = 0 }: FunctionView) => retrying,
  Workers: ({ workers = 0 }: FunctionView) => workers,
} as const;
const NAMES = Object.keys(COLUMNS) as Column[];

/** All functions of an instance. */
export function Overview() {
  const i = instanceName.value;
  useFunctions(i);
  const all = [...(functions.value.get(i)?.values() ?? [])];
  const isThere = heard.value.has(i);
  const isLoading = !isThere && !troubles.value.has(i) && refusal.value === undefined;
  return (
    <>
      <h1>Overview</h1>
      {isThere && <Functions all={all} />}
      {isLoading && <p class="dim loading">Loading…</p>}
      {/* Not before what stands above it, which would push it down. */}
      {can('statistics') && !isLoading && <StatisticsSection />}
    </>
  );
}

function Functions({ all }: { all: readonly FunctionView[] }) {
  const filter = useSignal('');
  const sorting = useSignal<{ by: Column; isDown: boolean }>({ by: 'Function', isDown: false });
  const { by, isDown } = sorting.value;
  const text = filter.value.toLowerCase();
  const shown = all
    .filter(({ fn }) => fn.toLowerCase().includes(text))
    .toSorted((a, b) => compare(COLUMNS[by](a), COLUMNS[by](b)) * (isDown ? -1 : 1) || compare(a.fn, b.fn));
  const sort = (column: Column) =>
    (sorting.value = { by: column, isDown: column === by ? !isDown : column !== 'Function' });
  if (all.length === 0)
    return <Notice>There are no jobs yet. Functions appear here when their first job is enqueued.</Notice>;
  return (
    <>
      <Sums all={all} />
      <section aria-labelledby="functions-title">
        <div class="heading">
          <h2 id="functions-title">Functions</h2>
          <input
            type="search"
            aria-label="Filter functions by name"
            placeholder="Filter by name"
            value={filter.value}
            onInput={({ currentTarget }) => (filter.value = currentTarget.value)}
          />
        </div>
        <div class="scroll">
          <table class="functions">
            <thead>
              <tr>
                {NAMES.map((name) => (
                  <th
                    key={name}
                    scope="col"
                    class={name === 'Function' ? undefined : 'number'}
                    aria-sort={name === by ? (isDown ? 'descending' : 'ascending') : undefined}
                  >
                    <button type="button" class="sort" onClick={() => sort(name)}>
                      {name}
                    </button>
                  </th>
                ))}
                <th scope="col">State</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((one) => (
                <FunctionRow key={one.fn} one={one} />
              ))}
            </tbody>
          </table>
        </div>
        {shown.length < all.length && (
          <p class="dim">{many(all.length - shown.length, 'function')} hidden.</p>
        )}
      </section>
    </>
  );
}

function FunctionRow({ one }: { one: FunctionView }) {
  const { fn, refused } = one;
  const i = instanceName.value;
  return (
    <tr>
      <th scope="row">
        {can('jobs') ? (
          <a href={href('fn', { i, fn })} data-row class="name" title={fn}>
            <Name of={fn} />
          </a>
        ) : (
          <a href={href('native', { i })} data-row class="name" title={fn}>
            <Name of={fn} />
          </a>
        )}
      </th>
      {refused === undefined ? <Counts one={one} /> : <td colSpan={NAMES.length}>{refused}</td>}
    </tr>
  );
}

function Counts({ one }: { one: FunctionView }) {
  const { fn, waiting, running, scheduled, retrying, failed, workers, oldest } = one;
  const i = instanceName.value;
  const jobs = (state: string) => (can('jobs') ? href('jobs', { i, fn, state }) : undefined);
  return (
    <>
      <td
        class="number"
        title={`high ${count(waiting.high)}, normal ${count(waiting.normal)}, low ${count(waiting.low)}`}
      >
        <LinkedCount number={waitingOf(one)} to={jobs('waiting')} />
      </td>
      <td class="number">
        <LinkedCount number={failed} to={can('failures') ? href('failures', { i, fn }) : undefined} isBad />
      </td>
      <td class="number">
        <Age of={oldest} />
      </td>
      <td class="number">
        <LinkedCount number={running} to={jobs('running')} />
      </td>
      <td class="number">
        <LinkedCount number={scheduled} to={jobs('scheduled')} />
      </td>
      <td class="number">
        <LinkedCount number={retrying} to={jobs('retrying')} />
      </td>
      <td class={workers === 0 && waitingOf(one) > 0 ? 'number is-bad' : 'number'}>
        {workers === undefined ? <span class="dim">–</span> : count(workers)}
      </td>
      <td>
        <States one={one} />
      </td>
    </>
  );
}

/** A number that leads to its jobs. What a system can't tell is a dash. */
function LinkedCount({
  number,
  to,
  isBad,
}: {
  number: number | undefined;
  to: string | undefined;
  isBad?: boolean;
}) {
  if (number === undefined) return <span class="dim">–</span>;
  if (number === 0) return <span class="dim">0</span>;
  const mark = isBad ? 'is-bad' : undefined;
  return to === undefined ? (
    <span class={mark}>{short(number)}</span>
  ) : (
    <a class={mark} href={to}>
      {short(number)}
    </a>
  );
}

/** What needs attention, in words. */
export function States({ one }: { one: FunctionView }) {
  const { paused, limitsFull = 0, workers } = one;
  return (
    <>
      {paused && <StateBadge state="paused" />}
      {limitsFull > 0 && (
        <a class="badge is-limit" href={href('limits', { i: instanceName.value, fn: one.fn })}>
          {many(limitsFull, 'full key')}
        </a>
      )}
      {workers === 0 && waitingOf(one) > 0 && !paused && <span class="badge is-failed">no worker</span>}
    </>
  );
}

function Sums({ all }: { all: readonly FunctionView[] }) {
  const sum = (of: (one: FunctionView) => number) => all.reduce((total, one) => total + of(one), 0);
  const oldest = Math.min(
    ...all.flatMap((one) => (one.oldest === undefined ? [] : [new Date(one.oldest).getTime()])),
  );
  const tiles: readonly (readonly [string, string, (string | undefined)?])[] = [
    ['Waiting', short(sum(waitingOf))],
    ['Oldest waits', oldest === Infinity ? '–' : span(Math.max(0, now.value - oldest))],
    ['Running', short(sum(({ running = 0 }) => running))],
    ['Scheduled', short(sum(({ scheduled = 0 }) => scheduled))],
    ['Retrying', short(sum(({ retrying = 0 }) => retrying))],
    [
      'Failed',
      short(sum(({ failed = 0 }) => failed)),
      sum(({ failed = 0 }) => failed) > 0 ? 'is-bad' : undefined,
    ],
    ['Full keys', short(sum(({ limitsFull = 0 }) => limitsFull))],
    ['Paused', String(all.filter(({ paused }) => paused).length)],
  ];
  return (
    <dl class="tiles">
      {tiles.map(([name, value, mark]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class={mark}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function compare(a: string | number, b: string | number): number {
  return typeof a === 'string' ? a.localeCompare(String(b)) : a - Number(b);
}
