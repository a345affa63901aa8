import { headAt, skip } from '../../job/message-pack/skip.js';
import { Raw } from './raw.js';
import { textHead, textOf } from './unpack.js';

/** Paths of map keys and array indices, merged into a tree so that one walk finds them all. */
export class Paths {
  private readonly steps = new Map<string, Step>();
  /** Length of the keys in bytes: most other keys differ in it. */
  private readonly lengths = new Set<number>();
  private readonly indices = new Map<number, Step>();

  /** @param paths each from the value's root; an index is written as `0`, `17` */
  constructor(paths: Iterable<readonly string[]> = []) {
    for (const path of paths) this.add(path);
  }

  get isEmpty(): boolean {
    return this.steps.size === 0;
  }

  /** The step for the key at `start`, if it is one of those searched for. */
  byKey(bytes: Buffer, start: number, end: number): Step | undefined {
    const first = bytes[start] ?? 0;
    const text = start + textHead(first);
    if (text === start || !this.lengths.has(end - text)) return undefined;
    const step = this.steps.get(bytes.toString('utf8', text, end));
    // Bytes that are not UTF-8 were decoded as other characters.
    return step && bytes.compare(step.key, 0, step.key.length, text, end) === 0 ? step : undefined;
  }

  byIndex(index: number): Step | undefined {
    return this.indices.get(index);
  }

  private add([name, ...rest]: readonly string[]): void {
    if (name === undefined) return;
    const step = this.steps.get(name) ?? { name, key: Buffer.from(name), below: new Paths() };
    this.steps.set(name, step);
    this.lengths.add(step.key.length);
    if (/^(0|[1-9]\d{0,8})$/.test(name)) this.indices.set(Number(name), step);
    step.below.add(rest);
  }
}

interface Step {
  readonly name: string;
  readonly key: Buffer;
  readonly below: Paths;
}

/** A value that was found, and what was found inside it. */
export interface Picked {
  readonly raw: Raw;
  /** By key or index; of equal keys the last counts. */
  readonly below: ReadonlyMap<string, Picked>;
}

const NOTHING: ReadonlyMap<string, Picked> = new Map();

/**
 * The values at these paths. Each byte is read once, and other values are not decoded. The bytes must have passed
 * `toRaw`.
 */
export function pick({ bytes }: Raw, paths: Paths): Picked {
  return walk(bytes, 0, paths).picked;
}

/** The first text key of a map that is none of these. Other keys are skipped. */
export function otherKey({ bytes }: Raw, known: ReadonlySet<string>): string | undefined {
  const { end, children } = headAt(bytes, 0);
  let offset = end;
  for (let i = 0; i < children; i += 2) {
    const valueAt = skip(bytes, offset);
    const key = textOf(new Raw(bytes.subarray(offset, valueAt)));
    if (key !== undefined && !known.has(key)) return key;
    offset = skip(bytes, valueAt);
  }
  return undefined;
}

interface Walked {
  readonly picked: Picked;
  readonly end: number;
}

function walk(bytes: Buffer, start: number, paths: Paths): Walked {
  const { end: inside, children } = headAt(bytes, start);
  if (paths.isEmpty || children <= 0) return walked(bytes, start, skip(bytes, start), NOTHING);
  const below = new Map<string, Picked>();
  const isArray = new Raw(bytes.subarray(start, inside)).isArray;
  let offset = inside;
  for (let i = 0; i < children; i += isArray ? 1 : 2) {
    const at = isArray ? offset : skip(bytes, offset);
    const step = isArray ? paths.byIndex(i) : paths.byKey(bytes, offset, at);
    if (step === undefined) {
      offset = skip(bytes, at);
    } else {
      const { picked, end } = walk(bytes, at, step.below);
      below.set(step.name, picked);
      offset = end;
    }
  }
  return walked(bytes, start, offset, below);
}

function walked(bytes: Buffer, start: number, end: number, below: Picked['below']): Walked {
  return { picked: { raw: new Raw(bytes.subarray(start, end)), below }, end };
}
