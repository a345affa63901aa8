import { signal } from '@preact/signals';
import type { FunctionView, LiveEvents } from './api.js';

/** What is known of functions, by instance and name: as the last events had it. */
export const functions = signal<ReadonlyMap<string, ReadonlyMap<string, FunctionView>>>(new Map());
/** When an instance last sent something; undefined before the first. */
export const heard = signal<ReadonlyMap<string, number>>(new Map());
export const troubles = signal<ReadonlyMap<string, string>>(new Map());

export function noteOverview({ i, at, functions: changed, gone }: LiveEvents['overview']): void {
  const known = new Map(functions.value.get(i));
  for (const one of changed) known.set(one.fn, one);
  for (const fn of gone) known.delete(fn);
  functions.value = new Map(functions.value).set(i, known);
  heard.value = new Map(heard.value).set(i, new Date(at).getTime());
  if (!troubles.value.has(i)) return;
  const left = new Map(troubles.value);
  left.delete(i);
  troubles.value = left;
}

export function noteTrouble({ i, error }: LiveEvents['trouble']): void {
  troubles.value = new Map(troubles.value).set(i, error.message);
}

export function waitingOf({ waiting }: Pick<FunctionView, 'waiting'>): number {
  return waiting.high + waiting.normal + waiting.low;
}
