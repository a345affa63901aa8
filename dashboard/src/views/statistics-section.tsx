import { now } from '../clock.js';
import { get, type StatisticsView } from '../api.js';
import { count, short, span, ZONE } from '../format.js';
import { useLoad } from '../load.js';
import { href, route } from '../route.js';
import { instanceName } from '../session.js';
import { PERIOD_NAMES, periodOf, queryOf } from '../statistics.js';
import { Chart } from '../ui/chart.js';
import { Histogram, sumOfTimes } from '../ui/histogram.js';
import { Read } from '../ui/notice.js';

const AGAIN_MS = 60_000;

/** What happened over time, of a function or of all. */
export function StatisticsSection({ fn }: { fn?: string }) {
  const { view, query } = route.value;
  const period = periodOf(query['period']);
  const i = instanceName.value;
  const loaded = useLoad(
    JSON.stringify([i, fn, period]),
    (signal) => get<StatisticsView[]>('statistics', { i, fn, ...queryOf(period, now.peek()) }, signal),
    AGAIN_MS,
  );
  return (
    <section aria-labelledby="statistics-title">
      <div class="heading">
        <h2 id="statistics-title">Activity</h2>
        <nav class="choices" aria-label="Period">
          {PERIOD_NAMES.map((one) => (
            <a
              key={one}
              href={href(view, { ...query, period: one })}
              aria-current={one === period ? 'true' : undefined}
            >
              {one}
            </a>
          ))}
        </nav>
      </div>
      <Read from={loaded}>{(steps) => <Charts steps={steps} />}</Read>
    </section>
  );
}

function Charts({ steps }: { steps: readonly StatisticsView[] }) {
  const times = steps.map(({ at }) => new Date(at).getTime() / 1000);
  const jobs = (name: 'done' | 'failed' | 'retried' | 'stalled') => steps.map((step) => step[name]);
  const mean = (name: 'wait' | 'run') =>
    steps.map((step) => (step[name].count === 0 ? null : step[name].mean));
  return (
    <>
      <div class="charts">
        <Chart
          title="Jobs that ended"
          times={times}
          show={short}
          lines={[
            { label: 'done', colour: 'success', values: jobs('done') },
            { label: 'failed', colour: 'failed', values: jobs('failed') },
            { label: 'retried', colour: 'retrying', values: jobs('retried') },
          ]}
        />
        <Chart
          title="Mean time"
          times={times}
          show={(ms) => span(Math.round(ms))}
          lines={[
            { label: 'wait', colour: 'waiting', values: mean('wait') },
            { label: 'run', colour: 'running', values: mean('run') },
          ]}
        />
      </div>
      <div class="charts">
        <Histogram title="How long jobs waited" times={sumOfTimes(steps.map(({ wait }) => wait))} />
        <Histogram title="How long they ran" times={sumOfTimes(steps.map(({ run }) => run))} />
      </div>
      <p class="dim">
        {count(sum(jobs('done')))} done, {count(sum(jobs('failed')))} failed, {count(sum(jobs('retried')))}{' '}
        retried, {count(sum(jobs('stalled')))} lost their worker in this time. Workers in other languages are
        not counted. Times are of {ZONE}.
      </p>
    </>
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
