import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { FlowJob, JobName } from '../flow-jobs.js';
import {
  BOX_WIDTH,
  countsOf,
  FLOW_STATES,
  keyOf,
  layOut,
  LINE_HEIGHT,
  type FlowBox,
  type FlowState,
} from '../flow-layout.js';
import { count, many } from '../format.js';
import { href } from '../route.js';
import { instanceName } from '../session.js';

/** Each state has a shape of its own, 12 by 12. */
const MARKS: Readonly<Record<FlowState, string>> = {
  succeeded: 'M1 7l3.5 3.5L11 2.5',
  failed: 'M2 2l8 8M10 2l-8 8',
  running: 'M3 1.5l7.5 4.5L3 10.5z',
  waiting: 'M6 1.5a4.5 4.5 0 1 0 .01 0z',
  scheduled: 'M4 2v8M8 2v8',
  retrying: 'M10 4a4.5 4.5 0 1 0 .5 3M10.5 1v3h-3',
  cancelled: 'M2 10l8-8',
  gone: 'M2 6h8',
};
const MOST_CHARACTERS = 20;
const TEXT_X = 30;

interface Props {
  readonly jobs: readonly FlowJob[];
  /** The job of the page. */
  readonly shown: JobName;
}

/** The jobs of a flow from left to right. It is loaded when the first flow is opened. */
export function FlowDrawing({ jobs, shown }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const opened = useSignal<string | undefined>(undefined);
  const own = keyOf(shown);
  const layout = useMemo(() => layOut(jobs, own), [jobs, own]);
  const { boxes, lines, ownLines, width, height, isCut } = layout;
  const current = boxes.find((one) => one.members.some((member) => keyOf(member) === own));
  const group = boxes.find(({ key, members }) => key === opened.value && members.length > 1);
  useEffect(() => {
    const place = box.current;
    if (!place || !current) return;
    place.scrollLeft = current.x + BOX_WIDTH / 2 - place.clientWidth / 2;
    place.scrollTop = current.y + current.height / 2 - place.clientHeight / 2;
    // The link that led here is gone with the last drawing.
    if (document.activeElement === document.body) focusOn(place, '[aria-current]');
  }, [own]);
  const close = () => {
    opened.value = undefined;
    if (box.current) focusOn(box.current, '[aria-expanded="true"]');
  };
  return (
    <>
      <div class="drawing" ref={box} tabIndex={0} role="region" aria-label="Jobs of the flow">
        <svg width={width} height={height}>
          <path class="line" d={lines.paths} />
          <path class="head" d={lines.heads} />
          <path class="line is-own" d={ownLines.paths} />
          <path class="head is-own" d={ownLines.heads} />
          {boxes.map((one) =>
            one.members.length === 1 ? (
              <JobBox key={one.key} box={one} isCurrent={one === current} />
            ) : (
              <GroupBox
                key={one.key}
                box={one}
                isCurrent={one === current}
                isOpen={one === group}
                toggle={() => (opened.value = one === group ? undefined : one.key)}
              />
            ),
          )}
        </svg>
      </div>
      {!current && <p class="dim">This job is not among those that are shown.</p>}
      {isCut && <p class="dim">Not all lines are drawn.</p>}
      {group && <GroupList key={group.key} box={group} own={own} close={close} />}
      <p class="dim">
        Each job stands to the right of those that it waits for. Scheduled ones wait for others, or for a
        time.
        {jobs.some(({ state }) => state === 'gone') &&
          ' Gone ones are no longer kept, nor what they waited for.'}
      </p>
    </>
  );
}

function JobBox({ box: { fn, members, x, y, height }, isCurrent }: { box: FlowBox; isCurrent: boolean }) {
  const [job] = members;
  if (!job) return null;
  const { id } = job;
  const { state } = job;
  return (
    <a
      class={`box is-${state}`}
      href={href('job', { i: instanceName.value, fn, id })}
      aria-current={isCurrent ? 'true' : undefined}
      data-row
    >
      <title>{`${fn} ${id}: ${state}`}</title>
      <Frame x={x} y={y} height={height} />
      <Mark x={x + 11} y={y + 17} state={state} />
      <Texts x={x} y={y} height={height} fn={fn}>
        <text y={37}>
          #{id} <tspan class="state">{state}</tspan>
        </text>
      </Texts>
    </a>
  );
}

interface GroupProps {
  readonly box: FlowBox;
  readonly isCurrent: boolean;
  readonly isOpen: boolean;
  readonly toggle: () => void;
}

function GroupBox({ box: { fn, members, x, y, height }, isCurrent, isOpen, toggle }: GroupProps) {
  const counts = countsOf(members);
  const [worst = 'waiting'] = counts[0] ?? [];
  const says = counts.map(([state, jobs]) => `${count(jobs)} ${state}`).join(', ');
  return (
    <g
      class={`box is-${worst}`}
      role="button"
      tabindex={0}
      aria-expanded={isOpen}
      aria-current={isCurrent ? 'true' : undefined}
      data-row
      onClick={toggle}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        toggle();
      }}
    >
      <title>{`${many(members.length, 'job')} of ${fn}: ${says}`}</title>
      <Frame x={x + 4} y={y + 4} height={height} />
      <Frame x={x} y={y} height={height} />
      <Texts x={x} y={y} height={height} fn={fn} of={members.length}>
        {counts.map(([state, jobs], index) => (
          <text key={state} class={`state is-${state}`} y={37 + index * LINE_HEIGHT}>
            {count(jobs)} {state}
          </text>
        ))}
      </Texts>
      {counts.map(([state], index) => (
        <g key={state} class={`is-${state}`}>
          <Mark x={x + 11} y={y + 27 + index * LINE_HEIGHT} state={state} />
        </g>
      ))}
    </g>
  );
}

function Frame({ x, y, height }: { x: number; y: number; height: number }) {
  return <rect x={x} y={y} width={BOX_WIDTH} height={height} rx={7} />;
}

function Mark({ x, y, state }: { x: number; y: number; state: FlowState }) {
  return <path class={`mark is-${state}`} transform={`translate(${x} ${y})`} d={MARKS[state]} />;
}

/** A picture of its own cuts what is too long. */
function Texts({
  x,
  y,
  height,
  fn,
  of,
  children,
}: {
  x: number;
  y: number;
  height: number;
  fn: string;
  of?: number;
  children: preact.ComponentChildren;
}) {
  const number = of === undefined ? '' : `${count(of)} × `;
  return (
    <svg x={x + TEXT_X} y={y} width={BOX_WIDTH - TEXT_X - 6} height={height}>
      <text class="fn" y={19}>
        {number}
        {shortened(fn, MOST_CHARACTERS - number.length)}
      </text>
      {children}
    </svg>
  );
}

/** Names of functions often differ at their ends. */
function shortened(text: string, most: number): string {
  const characters = [...text];
  if (characters.length <= most) return text;
  const end = Math.floor((most - 1) / 2);
  return `${characters.slice(0, most - 1 - end).join('')}…${characters.slice(-end).join('')}`;
}

function focusOn(place: Element, selector: string): void {
  place.querySelector<SVGElement>(selector)?.focus({ preventScroll: true });
}

/** The jobs of a group, those that need a look first. */
function GroupList({ box: { fn, members }, own, close }: { box: FlowBox; own: string; close: () => void }) {
  const place = useRef<HTMLDivElement>(null);
  const i = instanceName.value;
  useEffect(() => place.current?.focus(), []);
  const sorted = members.toSorted((a, b) => FLOW_STATES.indexOf(a.state) - FLOW_STATES.indexOf(b.state));
  return (
    <div
      class="members"
      ref={place}
      tabIndex={0}
      role="region"
      aria-label={`Jobs of ${fn}`}
      onKeyDown={({ key }) => key === 'Escape' && close()}
    >
      <p class="row">
        <strong class="name">
          {count(members.length)} × {fn}
        </strong>
        <button type="button" class="link" onClick={close}>
          Close
        </button>
      </p>
      <ul class="plain">
        {sorted.map((job) => (
          <li key={job.id}>
            <a
              href={href('job', { i, fn, id: job.id })}
              aria-current={keyOf(job) === own ? 'true' : undefined}
            >
              {job.id}
            </a>{' '}
            <span class={`badge is-${job.state}`}>{job.state}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
