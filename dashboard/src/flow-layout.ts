import type { FlowJob, JobName } from './flow-jobs.js';

/** What a job of a flow does, in the order in which people look for it. */
export const FLOW_STATES = [
  ...(['failed', 'cancelled', 'running', 'retrying', 'waiting', 'scheduled'] as const),
  ...(['succeeded', 'gone'] as const),
];
export type FlowState = FlowJob['state'];

/** A job, or the many jobs of one function that are equally deep in the flow. */
export interface FlowBox {
  readonly key: string;
  readonly fn: string;
  readonly members: readonly FlowJob[];
  readonly x: number;
  readonly y: number;
  readonly height: number;
}

export interface FlowLayout {
  readonly boxes: readonly FlowBox[];
  /** Of `path` elements: the lines, and where they end. The own ones begin or end at the job that is shown. */
  readonly lines: Lines;
  readonly ownLines: Lines;
  /** There are more lines than are drawn. */
  readonly isCut: boolean;
  readonly width: number;
  readonly height: number;
}

interface Lines {
  readonly paths: string;
  readonly heads: string;
}

type Layer = FlowBox[];

/** So many jobs of a function in a layer are drawn singly. */
const MOST_SINGLE = 12;
const MOST_LINES = 3000;
export const BOX_WIDTH = 188;
export const LINE_HEIGHT = 18;
const [BOX_HEIGHT, COLUMN_GAP, ROW_GAP, MARGIN, LANE] = [46, 56, 12, 28, 14];

/** How many of these jobs there are of each state, without those of which there is none. */
export function countsOf(members: readonly FlowJob[]): (readonly [FlowState, number])[] {
  const states = members.map(({ state }) => state);
  return FLOW_STATES.map((state) => [state, states.filter((one) => one === state).length] as const).filter(
    ([, jobs]) => jobs > 0,
  );
}

/** Names of functions contain no white space. */
export function keyOf({ fn, id }: JobName): string {
  return `${fn} ${id}`;
}

/** Places the jobs of a flow from left to right: each to the right of those that it waited for. */
export function layOut(members: readonly FlowJob[], shown: string): FlowLayout {
  const layers = layersOf(members).map(boxesOf);
  const boxOf = new Map<string, FlowBox>();
  const note = (layer: Layer) => {
    for (const box of layer) for (const member of box.members) boxOf.set(keyOf(member), box);
  };
  const most = Math.max(0, ...layers.map(heightOf));
  const placed = layers.map((layer, depth) => {
    const sorted = layer.toSorted((a, b) => middleOfParents(a, boxOf) - middleOfParents(b, boxOf));
    let y = MARGIN + (most - heightOf(layer)) / 2;
    const column = sorted.map((box) => {
      const at = { ...box, x: MARGIN + depth * (BOX_WIDTH + COLUMN_GAP), y };
      y += box.height + ROW_GAP;
      return at;
    });
    note(column);
    return column;
  });
  const width = placed.length * (BOX_WIDTH + COLUMN_GAP) - COLUMN_GAP + 2 * MARGIN;
  return {
    boxes: placed.flat(),
    ...linesOf(placed, boxOf, boxOf.get(shown)),
    ...{ width, height: most + 2 * MARGIN },
  };
}

/** By how many jobs in a row each has waited for. In a loop: a chain may be as long as a flow. What one waited for that is gone is not known. */
function layersOf(members: readonly FlowJob[]): FlowJob[][] {
  const depths = new Map(
    members.map((member, index) => [keyOf(member), member.state === 'gone' && index > 0 ? 1 : 0]),
  );
  const children = new Map<string, FlowJob[]>();
  const waits = new Map<string, number>();
  for (const member of members) {
    const parents = member.parents.map(keyOf).filter((parent) => depths.has(parent));
    waits.set(keyOf(member), parents.length);
    for (const parent of parents) {
      const known = children.get(parent);
      if (known) known.push(member);
      else children.set(parent, [member]);
    }
  }
  const free = members.filter((member) => waits.get(keyOf(member)) === 0);
  // Those that become free are added behind. What is left is a circle, which only another program can have written.
  for (const member of free) {
    const depth = (depths.get(keyOf(member)) ?? 0) + 1;
    for (const child of children.get(keyOf(member)) ?? []) {
      const key = keyOf(child);
      depths.set(key, Math.max(depth, depths.get(key) ?? 0));
      const left = (waits.get(key) ?? 0) - 1;
      waits.set(key, left);
      if (left === 0) free.push(child);
    }
  }
  const layers: FlowJob[][] = [];
  for (const member of members) (layers[depths.get(keyOf(member)) ?? 0] ??= []).push(member);
  return layers.filter((layer) => layer.length > 0);
}

function boxesOf(layer: readonly FlowJob[], depth: number): Layer {
  const byFunction = new Map<string, FlowJob[]>();
  for (const member of layer) {
    const known = byFunction.get(member.fn);
    if (known) known.push(member);
    else byFunction.set(member.fn, [member]);
  }
  return [...byFunction].flatMap(([fn, members]) => {
    if (members.length > MOST_SINGLE) {
      const height = BOX_HEIGHT + (countsOf(members).length - 1) * LINE_HEIGHT;
      return [{ key: `group ${depth} ${fn}`, fn, members, x: 0, y: 0, height }];
    }
    return members.map((one) => ({ key: keyOf(one), fn, members: [one], x: 0, y: 0, height: BOX_HEIGHT }));
  });
}

function heightOf(layer: Layer): number {
  return layer.reduce((sum, { height }) => sum + height + ROW_GAP, -ROW_GAP);
}

/** A job stands about as high as those that it waited for, so that few lines cross. */
function middleOfParents({ members }: FlowBox, boxOf: ReadonlyMap<string, FlowBox>): number {
  const parents = new Set(
    members.flatMap(({ parents: all }) => all.flatMap((parent) => boxOf.get(keyOf(parent)) ?? [])),
  );
  const sum = [...parents].reduce((total, box) => total + middleOf(box), 0);
  return parents.size === 0 ? 0 : sum / parents.size;
}

function middleOf({ y, height }: FlowBox): number {
  return y + height / 2;
}

function linesOf(
  layers: readonly Layer[],
  boxOf: ReadonlyMap<string, FlowBox>,
  shown: FlowBox | undefined,
): Pick<FlowLayout, 'lines' | 'ownLines' | 'isCut'> {
  const known = new Set<string>();
  const [own, others]: [Line[], Line[]] = [[], []];
  let isCut = false;
  for (const to of layers.flat())
    for (const from of to.members.flatMap(({ parents }) => parents.map((one) => boxOf.get(keyOf(one))))) {
      if (!from || from.x >= to.x || known.has(`${from.key}\n${to.key}`)) continue;
      const isOwn = from === shown || to === shown;
      if (!isOwn && others.length === MOST_LINES) {
        isCut = true;
        continue;
      }
      known.add(`${from.key}\n${to.key}`);
      (isOwn ? own : others).push(lineOf(layers, from, to));
    }
  return { lines: drawn(others), ownLines: drawn(own), isCut };
}

interface Line {
  readonly path: string;
  readonly head: string;
}

/** One that passes columns goes around their boxes. */
function lineOf(layers: readonly Layer[], from: FlowBox, to: FlowBox): Line {
  const [x, y, endX, endY] = [from.x + BOX_WIDTH, middleOf(from), to.x, middleOf(to)];
  const between = layers.filter(([first]) => first && first.x > from.x && first.x < to.x).flat();
  const head = `M${endX} ${endY}l-8 -4v8z`;
  if (between.length === 0) return { path: `M${x} ${y}${curve(x, y, endX - 6, endY)}`, head };
  const top = Math.min(...between.map((box) => box.y)) - LANE;
  const bottom = Math.max(...between.map((box) => box.y + box.height)) + LANE;
  const middle = (y + endY) / 2;
  const lane = middle - top < bottom - middle ? top : bottom;
  const [left, right] = [x + COLUMN_GAP, endX - COLUMN_GAP];
  const path = `M${x} ${y}${curve(x, y, left, lane)}H${right}${curve(right, lane, endX - 6, endY)}`;
  return { path, head };
}

function curve(x: number, y: number, endX: number, endY: number): string {
  const middle = (x + endX) / 2;
  return `C${middle} ${y} ${middle} ${endY} ${endX} ${endY}`;
}

function drawn(lines: readonly Line[]): Lines {
  return { paths: lines.map(({ path }) => path).join(''), heads: lines.map(({ head }) => head).join('') };
}
