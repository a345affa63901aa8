import { get, type WorkersView } from '../api.js';
import { count, many } from '../format.js';
import { useLoad } from '../load.js';
import { href, route } from '../route.js';
import { instanceName } from '../session.js';
import { Name } from '../ui/name.js';
import { Notice, Read } from '../ui/notice.js';
import { Age, When } from '../ui/time.js';

const AGAIN_MS = 5000;

/** Who works, and what runs. */
export function Workers() {
  const { fn } = route.value.query;
  const i = instanceName.value;
  const key = JSON.stringify([i, fn]);
  const loaded = useLoad(key, (signal) => get<WorkersView>('workers', { i, fn }, signal), AGAIN_MS);
  return (
    <>
      <h1>Workers{fn !== undefined && ` of ${fn}`}</h1>
      <Read from={loaded}>{(all) => <All all={all} />}</Read>
    </>
  );
}

function All({ all: { workers, functions, running } }: { all: WorkersView }) {
  const i = instanceName.value;
  const counted = functions.filter((one) => one.workers > 0);
  return (
    <>
      {counted.length === 0 && <Notice>No worker is registered.</Notice>}
      {workers.length > 0 && (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">Worker</th>
                <th scope="col">Serves</th>
                <th scope="col">State</th>
                <th scope="col">Runs</th>
              </tr>
            </thead>
            <tbody>
              {workers.map(({ id, functions: served, until, lost }) => (
                <tr key={id}>
                  <th scope="row">
                    <code>{id.slice(0, 8)}</code>
                  </th>
                  <td>
                    {served.map((fn) => (
                      <a key={fn} class="tag" data-row href={href('fn', { i, fn })}>
                        {fn}
                      </a>
                    ))}
                  </td>
                  <td>
                    {lost ? (
                      <span class="badge is-failed">
                        lost <When at={until} />
                      </span>
                    ) : (
                      <span class="badge is-succeeded">there</span>
                    )}
                  </td>
                  <td>
                    {running
                      .filter(({ worker }) => worker === id)
                      .map((job) => (
                        <a
                          key={`${job.fn} ${job.id}`}
                          class="tag"
                          href={href('job', { i, fn: job.fn, id: job.id })}
                        >
                          {job.fn} {job.id}
                        </a>
                      ))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {counted.length > 0 && (
        <section>
          <h2>Registered</h2>
          <p class="dim">Workers in other languages are counted here too.</p>
          <ul class="plain">
            {counted.map(({ fn, workers: number, running: jobs }) => (
              <li key={fn}>
                <a class="name" href={href('fn', { i, fn })}>
                  <Name of={fn} />
                </a>
                : {many(number, 'worker')}, {count(jobs)} running
              </li>
            ))}
          </ul>
        </section>
      )}
      <section>
        <h2>What runs</h2>
        {running.length === 0 ? (
          <p class="dim">Nothing.</p>
        ) : (
          <ul class="plain">
            {running.map(({ fn, id, times, worker, progress }) => (
              <li key={`${fn} ${id}`} class="row">
                <a data-row href={href('job', { i, fn, id })}>
                  {fn} {id}
                </a>
                <span>
                  for <Age of={times.started} />
                  {worker !== undefined && (
                    <>
                      {' '}
                      on <code>{worker.slice(0, 8)}</code>
                    </>
                  )}
                </span>
                {progress && (
                  <progress max={progress.divisor} value={progress.dividend} aria-label="Progress" />
                )}
              </li>
            ))}
          </ul>
        )}
      </section>
    </>
  );
}
