import type { TimesView } from '../api.js';
import { count, span } from '../format.js';

/** How long jobs waited or ran: a bar for each class of times. */
export function Histogram({ title, times }: { title: string; times: TimesView }) {
  const used = trimmed(times.classes);
  const most = Math.max(1, ...used.map(({ count: jobs }) => jobs));
  return (
    <figure class="histogram">
      <figcaption>
        {title} <span class="dim">{times.count > 0 && `mean ${span(Math.round(times.mean))}`}</span>
      </figcaption>
      {times.count === 0 ? (
        <p class="dim">No jobs in this time.</p>
      ) : (
        <table>
          <tbody>
            {used.map(({ most: upTo, count: jobs }, index) => (
              <tr key={index}>
                <th scope="row">{upTo === null ? 'longer' : `≤ ${span(upTo)}`}</th>
                <td class="bar">
                  <span style={{ width: `${(100 * jobs) / most}%` }} />
                </td>
                <td class="number">{count(jobs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </figure>
  );
}

/** Without the empty classes at both ends. */
function trimmed(classes: TimesView['classes']): TimesView['classes'] {
  const first = classes.findIndex(({ count: jobs }) => jobs > 0);
  const last = classes.findLastIndex(({ count: jobs }) => jobs > 0);
  return first < 0 ? [] : classes.slice(first, last + 1);
}

/** All of these together. */
export function sumOfTimes(all: readonly TimesView[]): TimesView {
  const jobs = all.reduce((sum, each) => sum + each.count, 0);
  const ms = all.reduce((sum, each) => sum + each.mean * each.count, 0);
  const classes = (all[0]?.classes ?? []).map(({ most }, index) => ({
    most,
    count: all.reduce((sum, each) => sum + (each.classes[index]?.count ?? 0), 0),
  }));
  return { count: jobs, mean: jobs === 0 ? 0 : ms / jobs, classes };
}
