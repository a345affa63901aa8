import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { get, type FunctionView, type LiveEvents } from './api.js';
import { useLive } from './live/live.js';

/** What is known of functions, by instance and name: as the last events had it. */
export const functions = signal<ReadonlyMap<string, ReadonlyMap<string, FunctionView>>>(new Map());
/** When an instance last sent something; undefined before the first. */
export const heard = signal<ReadonlyMap<string, number>>(new Map());
/** Why an instance can't be read now, and when it was read last. */
export interface Trouble {
  readonly code: string;
  readonly message: string;
  readonly since: number | undefined;
}

export const troubles = signal<ReadonlyMap<string, Trouble>>(new Map());

/**
 * Watches functions of an instance: all, or these. They are read at once, for a stream takes seconds to tell of hundreds; what it has
 * told meanwhile is newer.
 */
export function useFunctions(i: string, fns?: readonly string[]): void {
  const told = useRef(new Set<string>());
  useLive([{ overview: i, ...(fns && { fns }) }], {
    overview: (event) => {
      if (event.i === i)
        for (const fn of [...event.functions.map((one) => one.fn), ...event.gone]) told.current.add(fn);
      noteOverview(event);
    },
    trouble: noteTrouble,
  });
  useEffect(() => {
    told.current.clear();
    const leaving = new AbortController();
    get<FunctionView[]>('overview', { i }, leaving.signal).then(
      (all) => noteFirst(i, all, told.current),
      // The stream tells what is wrong.
      () => undefined,
    );
    return () => leaving.abort();
  }, [i, fns?.join()]);
}

function noteFirst(i: string, all: readonly FunctionView[], told: ReadonlySet<string>): void {
  const newer = [...(functions.value.get(i) ?? [])].filter(([fn]) => told.has(fn));
  const first = all.flatMap((one) => (told.has(one.fn) ? [] : [[one.fn, one] as const]));
  functions.value = new Map(functions.value).set(i, new Map([...first, ...newer]));
  heard.value = new Map(heard.value).set(i, Date.now());
}

export function noteOverview({ i, at, functions: changed, gone }: LiveEvents['overview']): void {
  const known = new Map(functions.value.get(i));
  for (const one of changed)
    if (one.unknown) known.delete(one.fn);
    else known.set(one.fn, one);
  for (const fn of gone) known.delete(fn);
  functions.value = new Map(functions.value).set(i, known);
  heard.value = new Map(heard.value).set(i, new Date(at).getTime());
  noteRead(i);
}

/** The instance answers, again. */
export function noteRead(i: string): void {
  if (!troubles.value.has(i)) return;
  const left = new Map(troubles.value);
  left.delete(i);
  troubles.value = left;
}

export function noteTrouble({ i, error, since }: LiveEvents['trouble']): void {
  const known = troubles.value.get(i)?.since ?? heard.value.get(i);
  const read = since === undefined ? known : new Date(since).getTime();
  troubles.value = new Map(troubles.value).set(i, { ...error, since: read });
}

export function waitingOf({ waiting }: Pick<FunctionView, 'waiting'>): number {
  return waiting.high + waiting.normal + waiting.low;
}
