import type { FunctionView, Topic } from '../api.js';
import type { Told } from './messages.js';

/** What was told last of each thing, for windows that come later. */
export class Memory {
  readonly #functions = new Map<string, Map<string, FunctionView>>();
  readonly #at = new Map<string, string>();
  readonly #others = new Map<string, Told>();

  note(told: Told): void {
    const [name, data] = told;
    if (name === 'overview') {
      const known = this.#functions.get(data.i) ?? new Map<string, FunctionView>();
      for (const one of data.functions) known.set(one.fn, one);
      for (const fn of data.gone) known.delete(fn);
      this.#functions.set(data.i, known);
      this.#at.set(data.i, data.at);
      this.#others.delete(`trouble ${data.i}`);
    } else if (name === 'job') this.#others.set(jobKey(data), told);
    else if (name === 'bulk') this.#others.set(`bulk ${data.id}`, told);
    else if (name === 'trouble') this.#others.set(`trouble ${data.i}`, told);
  }

  /** What is known of a topic. */
  of(topic: Topic): readonly Told[] {
    const found = (key: string) => this.#others.get(key) ?? [];
    if ('bulk' in topic) return listOf(found(`bulk ${topic.bulk}`));
    const i = ('overview' in topic ? topic.overview : topic.i) ?? 'default';
    const trouble = listOf(found(`trouble ${i}`));
    if ('job' in topic) return [...listOf(found(jobKey({ i, fn: topic.fn, id: topic.job }))), ...trouble];
    const [functions, at] = [this.#functions.get(i), this.#at.get(i)];
    if (!functions || at === undefined) return trouble;
    const { fns } = topic;
    const shown = [...functions.values()].filter(({ fn }) => fns === undefined || fns.includes(fn));
    return [['overview', { i, at, functions: shown, gone: [] }], ...trouble];
  }

  forget(): void {
    this.#functions.clear();
    this.#at.clear();
    this.#others.clear();
  }
}

function jobKey({ i, fn, id }: { i: string; fn: string; id: string }): string {
  return `job ${JSON.stringify([i, fn, id])}`;
}

function listOf(told: Told | readonly []): readonly Told[] {
  return told.length === 0 ? [] : [told];
}
