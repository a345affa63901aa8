import { get, type NativeView } from '../api.js';
import { count, many } from '../format.js';
import { useLoad } from '../load.js';
import { href, route } from '../route.js';
import { instance, instanceName } from '../session.js';
import { Notice, Read } from '../ui/notice.js';

const AGAIN_MS = 5000;

/** Tables in the terms of qless, JQ and jobd. */
export function Native() {
  const views = instance.value?.native ?? [];
  const { view = views[0] ?? '', page } = route.value.query;
  const i = instanceName.value;
  const loaded = useLoad(
    JSON.stringify([i, view, page]),
    (signal) => get<NativeView>('native', { i, view, page }, signal),
    AGAIN_MS,
  );
  return (
    <>
      <h1>{instance.value?.system}</h1>
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
      <Read from={loaded}>{(table) => <Table table={table} i={i} view={view} />}</Read>
    </>
  );
}

function Table({
  table: { columns, rows, total, next },
  i,
  view,
}: {
  table: NativeView;
  i: string;
  view: string;
}) {
  if (rows.length === 0) return <Notice>Nothing is here.</Notice>;
  return (
    <>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              {columns.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={index}>
                {row.map((value, column) => (
                  <td key={column} class={typeof value === 'number' ? 'number' : undefined}>
                    {typeof value === 'number' ? (
                      count(value)
                    ) : value === null ? (
                      <span class="dim">–</span>
                    ) : (
                      String(value)
                    )}
                  </td>
                ))}
              </tr>
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
