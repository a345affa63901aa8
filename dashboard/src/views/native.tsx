import { get, type Action, type NativeView } from '../api.js';
import { count, many } from '../format.js';
import { useLoad } from '../load.js';
import { href, route } from '../route.js';
import { instance, instanceName } from '../session.js';
import { Notice, Read } from '../ui/notice.js';
import { When } from '../ui/time.js';
import { NativeRow } from './native-row.js';
import { RowActions } from './row-actions.js';
import { RunNative } from './run-native.js';

const AGAIN_MS = 2000;
/** As tables have times. */
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** Longer texts may wrap, and are cut after three lines. */
const WORD = 40;

/** Tables in the terms of qless, JQ and jobd. */
export function Native() {
  const { system = '', native: views = [], run, actions = [] } = instance.value ?? {};
  const { view = views[0] ?? '', page, key } = route.value.query;
  const i = instanceName.value;
  return (
    <>
      <h1>{system}</h1>
      <nav class="choices" aria-label="Table">
        {views.map((one) => (
          <a
            key={one}
            href={href('native', { i, view: one })}
            aria-current={one === view ? 'page' : undefined}
          >
            {one}
          </a>
        ))}
      </nav>
      {key === undefined ? (
        <Table key={view} i={i} view={view} page={page} />
      ) : (
        <NativeRow i={i} view={view} of={key} />
      )}
      {key === undefined && run && actions.includes('run') && <RunNative names={run} />}
    </>
  );
}

function Table({ i, view, page }: { i: string; view: string; page: string | undefined }) {
  const loaded = useLoad(
    JSON.stringify([i, view, page]),
    (signal) => get<NativeView>('native', { i, view, page }, signal),
    AGAIN_MS,
  );
  return (
    <Read from={loaded}>
      {(table) =>
        table.rows.length === 0 && table.next === undefined ? (
          <Notice>Nothing is here.</Notice>
        ) : (
          <Rows table={table} i={i} view={view} reload={loaded.reload} />
        )
      }
    </Read>
  );
}

interface Shown {
  readonly table: NativeView;
  readonly i: string;
  readonly view: string;
  readonly reload: () => void;
}

function Rows({ table, i, view, reload }: Shown) {
  const { columns, rows, total, next, actions } = table;
  const hasActions = actions.some((may) => may.length > 0);
  const shown = columns.filter((name) => !isHidden(table, name));
  return (
    <>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              {shown.map((name) => (
                <th key={name} scope="col" class={isNumeric(table, name) ? 'number' : undefined}>
                  {name}
                </th>
              ))}
              {hasActions && <th scope="col">Actions</th>}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <Row
                key={keyOf(table, row) ?? index}
                {...{ table, i, view, reload, row, may: actions[index] ?? [], hasActions }}
              />
            ))}
          </tbody>
        </table>
      </div>
      <p class="row">
        {total !== undefined && <span class="dim">{many(total, 'row')}</span>}
        {next !== undefined && (
          <a class="button" href={href('native', { i, view, page: next })}>
            Next page
          </a>
        )}
      </p>
    </>
  );
}

type Cells = NativeView['rows'][number];

function Row({
  table,
  i,
  view,
  reload,
  row,
  may,
  hasActions,
}: Shown & { row: Cells; may: readonly Action[]; hasActions: boolean }) {
  const { columns, functions, opens } = table;
  const key = keyOf(table, row);
  const fn = functions === undefined ? '' : String(row[columns.indexOf(functions)] ?? '');
  const shown = columns.flatMap((name, at) =>
    isHidden(table, name) ? [] : [[name, row[at] ?? null] as const],
  );
  return (
    <tr>
      {shown.map(([name, value], at) => (
        <td key={name} class={typeof value === 'number' ? 'number' : undefined}>
          {at === 0 && opens && key !== undefined ? (
            <a href={href('native', { i, view, key })} data-row>
              {String(value)}
            </a>
          ) : (
            <Cell value={value} />
          )}
        </td>
      ))}
      {hasActions && (
        <td class="fixed">
          {key !== undefined && (
            <span class="buttons">
              <RowActions {...{ fn, view, of: key, may, done: reload }} />
            </span>
          )}
        </td>
      )}
    </tr>
  );
}

function Cell({ value }: { value: Cells[number] }) {
  if (value === null) return <span class="dim">–</span>;
  if (typeof value === 'number') return <>{count(value)}</>;
  if (typeof value === 'string' && ISO_TIME.test(value)) return <When at={value} />;
  const text = typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value);
  return <span class={text.length > WORD ? 'cut' : 'fixed'}>{text}</span>;
}

/** Whether a column has numbers only, which stand at the right. */
function isNumeric({ columns, rows }: NativeView, name: string): boolean {
  const values = rows.map((row) => row[columns.indexOf(name)] ?? null).filter((value) => value !== null);
  return values.length > 0 && values.every((value) => typeof value === 'number');
}

/** The key of a group is made of what its other columns have. */
function isHidden({ key }: NativeView, name: string): boolean {
  return key === 'key' && name === 'key';
}

function keyOf({ key, columns }: NativeView, row: Cells): string | undefined {
  return key === undefined ? undefined : String(row[columns.indexOf(key)] ?? '');
}
