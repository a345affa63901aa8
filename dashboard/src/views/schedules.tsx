import { get, type ScheduleView } from '../api.js';
import { many } from '../format.js';
import { useLoad } from '../load.js';
import { href, route } from '../route.js';
import { instanceName, mayAtAll } from '../session.js';
import { ActButton } from '../ui/act-button.js';
import { Name } from '../ui/name.js';
import { Notice, Read } from '../ui/notice.js';
import { StateBadge } from '../ui/state.js';
import { exact } from '../format.js';
import { Exactly, When } from '../ui/time.js';

const AGAIN_MS = 10_000;

/** Recurring jobs, in words. */
export function Schedules() {
  const { fn } = route.value.query;
  const i = instanceName.value;
  const key = JSON.stringify([i, fn]);
  const loaded = useLoad(key, (signal) => get<ScheduleView[]>('schedules', { i, fn }, signal), AGAIN_MS);
  return (
    <>
      <h1>Schedules{fn !== undefined && ` of ${fn}`}</h1>
      <Read from={loaded}>
        {(all) =>
          all.length === 0 ? (
            <Notice>There are no schedules.</Notice>
          ) : (
            <ul class="groups">
              {all.map((one) => (
                <Schedule key={one.id} one={one} reload={loaded.reload} />
              ))}
            </ul>
          )
        }
      </Read>
    </>
  );
}

function Schedule({ one, reload }: { one: ScheduleView; reload: () => void }) {
  const { id, fn, words, cron, paused, next, previous, created, last, app, problem, act } = one;
  const i = instanceName.value;
  const about = { fn, schedule: id };
  return (
    <li data-schedule={id}>
      <div class="heading">
        <h2 class="name">
          <Name of={id} />
        </h2>
        {paused && <StateBadge state="paused" />}
        <span class="dim">
          of{' '}
          <a href={href('fn', { i, fn })} data-row>
            {fn}
          </a>
        </span>
      </div>
      <p>
        <strong>{words}</strong> {cron !== undefined && <code class="dim">{cron}</code>}
      </p>
      {problem !== undefined && <Notice isError>{problem}</Notice>}
      <p class="row">
        <span>
          {paused ? (
            'Paused'
          ) : next.length === 0 ? (
            'No more runs'
          ) : (
            <>
              Next <Exactly at={next[0]} />
            </>
          )}
          {next.length > 1 && !paused && (
            <span class="dim">
              , then{' '}
              {next.slice(1).map((at) => (
                <span key={at} class="comma">
                  <time dateTime={at}>{exact(Date.parse(at))}</time>
                </span>
              ))}
            </span>
          )}
        </span>
        <span>
          Last <When at={previous} />
          {last[0] && (
            <>
              {' '}
              <a href={href('job', { i, fn, id: last[0].id })}>job {last[0].id}</a>{' '}
              <StateBadge state={last[0].state} />
            </>
          )}
        </span>
        <span class="dim">{created === 0 ? 'no jobs so far' : `${many(created, 'job')} so far`}</span>
        {app !== undefined && <span class="dim">declared by {app}</span>}
      </p>
      {act && (
        <div class="buttons">
          {mayAtAll('schedule-run') && (
            <ActButton
              request={{ action: 'schedule-run', ...about }}
              title={`Run ${id} now`}
              says={`One job of ${fn} is enqueued now; the next runs stay as they are.`}
              verb="Run now"
              done={reload}
            />
          )}
          {paused
            ? mayAtAll('schedule-resume') && (
                <ActButton
                  request={{ action: 'schedule-resume', ...about }}
                  title={`Resume ${id}`}
                  says="It creates jobs again from its next time on."
                  verb="Resume"
                  done={reload}
                />
              )
            : mayAtAll('schedule-pause') && (
                <ActButton
                  request={{ action: 'schedule-pause', ...about }}
                  title={`Pause ${id}`}
                  says="It creates no jobs until it is resumed."
                  verb="Pause"
                  done={reload}
                />
              )}
        </div>
      )}
    </li>
  );
}
