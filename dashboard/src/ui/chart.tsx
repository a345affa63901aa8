import { useEffect, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import { axisTimes } from '../format.js';

export interface Line {
  readonly label: string;
  /** The name of a colour of the style sheet, such as `success`. */
  readonly colour: string;
  /** Null where there is nothing to tell: the line goes on behind it. */
  readonly values: readonly (number | null)[];
}

interface Props {
  readonly title: string;
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly show: (value: number) => string;
}

const HEIGHT = 150;
/** Steps of a scale. */
const WHOLE = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].flatMap((power) =>
  [1, 2, 5].map((n) => n * 10 ** power),
);

/** Lines over time. The library comes when the first chart is seen. */
export function Chart({ title, times, lines, show }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const totals = lines
    .map(
      ({ label, values }) => `${label}: at most ${show(Math.max(0, ...values.map((value) => value ?? 0)))}`,
    )
    .join('; ');
  const text = JSON.stringify([times, lines]);
  useEffect(() => {
    let chart: uPlot | undefined;
    let isGone = false;
    let resized: ResizeObserver | undefined;
    void draw(place.current, times, lines, show).then((made) => {
      if (isGone || !made) return made?.destroy();
      chart = made;
      resized = new ResizeObserver(([entry]) => {
        if (entry) made.setSize({ width: Math.max(200, entry.contentRect.width), height: HEIGHT });
      });
      if (place.current) resized.observe(place.current);
    });
    return () => {
      isGone = true;
      resized?.disconnect();
      chart?.destroy();
    };
  }, [text, document.documentElement.dataset['theme']]);
  return (
    <figure class="chart">
      <figcaption>
        {title}
        <span class="legend">
          {lines.map(({ label, colour }) => (
            <span key={label} class={`key is-${colour}`}>
              {label}
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={place} role="img" aria-label={`${title}. ${totals}`} />
    </figure>
  );
}

async function draw(
  place: HTMLElement | null,
  times: readonly number[],
  lines: readonly Line[],
  show: (value: number) => string,
): Promise<uPlot | undefined> {
  const { default: UPlot } = await import('../chart-library.js');
  if (!place) return undefined;
  const style = getComputedStyle(place);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const axis = { stroke: colour('dim'), grid: { stroke: colour('line'), width: 1 }, ticks: { show: false } };
  return new UPlot(
    {
      width: Math.max(200, place.clientWidth),
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      scales: { y: { range: (_, __, most) => [0, Math.max(1, most * 1.1)] } },
      axes: [
        { ...axis, values: (_, seconds) => axisTimes(seconds.map((at) => at * 1000)) },
        { ...axis, size: 56, incrs: WHOLE, values: (_, ticks) => ticks.map(show) },
      ],
      series: [
        {},
        ...lines.map(({ label, colour: name, values }) => ({
          ...{ label, stroke: colour(name), width: 2 },
          // A single value makes no line.
          points: { show: values.filter((value) => value !== null).length === 1 },
          spanGaps: true,
          fill: `${colour(name)}22`,
        })),
      ],
    },
    [[...times], ...lines.map(({ values }) => [...values])] as uPlot.AlignedData,
    place,
  );
}
