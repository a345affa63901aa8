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

/** All of these together. Each has only the classes that it has times of. */
export function sumOfTimes(all: readonly TimesView[]): TimesView {
  const jobs = all.reduce((sum, each) => sum + each.count, 0);
  const ms = all.reduce((sum, each) => sum + each.mean * each.count, 0);
  const counts = new Map<number, number>();
  for (const { most, count: times } of all.flatMap(({ classes }) => classes))
    counts.set(most ?? Infinity, (counts.get(most ?? Infinity) ?? 0) + times);
  const classes = [...counts]
    .toSorted(([a], [b]) => a - b)
    .map(([most, times]) => ({ most: most === Infinity ? null : most, count: times }));
  return { count: jobs, mean: jobs === 0 ? 0 : ms / jobs, classes };
}
