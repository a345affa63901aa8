import { useAfterBulks } from '../actions.js';
import { get, type FailuresView, type FailureView, type FunctionView, type Rights } from '../api.js';
import { count, many } from '../format.js';
import { useLoad } from '../load.js';
import { href, route } from '../route.js';
import { instanceName } from '../session.js';
import { ActButton } from '../ui/act-button.js';
import { Name } from '../ui/name.js';
import { Notice, Read } from '../ui/notice.js';
import { When } from '../ui/time.js';

const AGAIN_MS = 10_000;
/** So many functions with failed jobs are shown at once. */
const MOST = 20;

/** Failed jobs by their errors: of one function, or of all that have some. */
export function Failures() {
  const { fn } = route.value.query;
  const i = instanceName.value;
  const overview = useLoad(i, (signal) => get<FunctionView[]>('overview', { i }, signal), AGAIN_MS);
  return (
    <>
      <h1>Failed jobs</h1>
      {fn !== undefined ? (
        <Groups fn={fn} reload={overview.reload} />
      ) : (
        <Read from={overview}>
          {(all) => {
            const failing = all
              .flatMap(({ fn: name, failed = 0 }) => (failed > 0 ? [{ fn: name, failed }] : []))
              .toSorted((a, b) => b.failed - a.failed);
            if (failing.length === 0) return <Notice>No job has failed.</Notice>;
            return (
              <>
                {failing.slice(0, MOST).map((one) => (
                  <Groups key={one.fn} fn={one.fn} failed={one.failed} reload={overview.reload} />
                ))}
                {failing.length > MOST && <p class="dim">{many(failing.length - MOST, 'function')} more.</p>}
              </>
            );
          }}
        </Read>
      )}
    </>
  );
}

interface Of {
  readonly fn: string;
  readonly failed?: number;
  /** Reads the numbers of all functions again. */
  readonly reload: () => void;
}

function Groups({ fn, failed, reload }: Of) {
  const i = instanceName.value;
  const key = JSON.stringify([i, fn]);
  const groups = useLoad(key, (signal) => get<FailuresView>('failures', { i, fn }, signal), AGAIN_MS);
  const rights = useLoad(key, (signal) => get<Rights>('rights', { i, fn }, signal));
  useAfterBulks(i, fn, () => {
    groups.reload();
    reload();
  });
  const actions = rights.data?.actions ?? [];
  const part = groups.data && partOf(groups.data);
  const all = groups.data?.total ?? failed;
  return (
    <section>
      <div class="heading">
        <h2>
          <a class="name" href={href('fn', { i, fn })}>
            <Name of={fn} />
          </a>{' '}
          {all !== undefined && <span class="dim">{count(all)}</span>}
          {part !== undefined && <span class="dim"> · groups of {part}</span>}
        </h2>
        <a class="button" href={href('jobs', { i, fn, state: 'failed' })}>
          All failed jobs
        </a>
      </div>
      <Read from={groups}>
        {(found) =>
          found.groups.length === 0 ? (
            <Notice>No job of {fn} has failed.</Notice>
          ) : (
            <ul class="groups">
              {found.groups.map((one) => (
                <Group key={one.group} fn={fn} one={one} part={partOf(found)} actions={actions} />
              ))}
            </ul>
          )
        }
      </Read>
    </section>
  );
}

/** Of which jobs the groups are, if not of all. */
function partOf({ looked, total }: FailuresView): string | undefined {
  return looked < total ? `the newest ${count(looked)}` : undefined;
}

interface Shown {
  readonly fn: string;
  readonly one: FailureView;
  readonly part: string | undefined;
  readonly actions: Rights['actions'];
}

function Group({ fn, one, part, actions }: Shown) {
  const { group, name, code, message, example, count: jobs, last, sample } = one;
  const i = instanceName.value;
  const which = { state: 'failed', group } as const;
  return (
    <li data-group={group}>
      <p>
        <strong>{name}</strong>
        {code !== undefined && <code> {code}</code>}:{' '}
        <span class="is-bad" title={message}>
          {example}
        </span>
      </p>
      <p class="row">
        <span>
          {many(jobs, 'job')}
          {part !== undefined && ` of ${part}`}, last <When at={last} />
        </span>
        <a href={href('job', { i, fn, id: sample })} data-row>
          Job {sample}
        </a>
        {actions.includes('retry') && (
          <ActButton
            request={{ action: 'retry', fn, which }}
            title={`Retry the jobs of ${fn} that failed with “${message.slice(0, 80)}”`}
            says="They are put back into their queues and run again."
            verb="Retry them"
          />
        )}
        {actions.includes('discard') && (
          <ActButton
            request={{ action: 'discard', fn, which }}
            title={`Discard the jobs of ${fn} that failed with “${message.slice(0, 80)}”`}
            says="They are deleted. This can't be taken back."
            verb="Discard them"
            isDangerous
          />
        )}
      </p>
    </li>
  );
}
