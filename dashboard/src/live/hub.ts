import { signedOut, type Topic } from '../api.js';
import { Memory } from './memory.js';
import type { Contact, Listener, Send, Told, Watched } from './messages.js';
import { Polls } from './polls.js';
import { Stream } from './stream.js';

/** As many as the server takes in a stream. */
const [MOST_TOPICS, MOST_JOBS] = [20, 5];
/** A window repeats what it watches every 12 s. One that is silent has crashed or is frozen. */
const SILENT_MS = 35_000;

interface Window {
  readonly topics: readonly string[];
  readonly heard: number;
}

/** Watches for any number of windows what they want to know: by one stream, and by polls what is too much for it. */
export class Hub {
  readonly #windows = new Map<Send, Window>();
  readonly #memory = new Memory();
  readonly #refused = new Map<string, string>();
  readonly #stream: Stream | undefined;
  readonly #polls: Polls;
  #topics: readonly string[] = [];
  #isThere: boolean | undefined;
  #lostAt: number | undefined;

  constructor(hasStream: boolean) {
    const listener: Listener = {
      tell: (told) => this.#tell(told),
      contact: (isThere) => this.#contact(isThere),
      refuse: (topic, why) => this.#refuse(topic, why),
    };
    this.#stream = hasStream ? new Stream(listener) : undefined;
    this.#polls = new Polls(listener);
  }

  watch(send: Send, { topics, fresh }: Watched): void {
    const isKnown = this.#windows.has(send);
    if (topics.length === 0) this.#windows.delete(send);
    else this.#windows.set(send, { topics, heard: Date.now() });
    if (!this.#settle()) for (const topic of isKnown ? fresh : topics) this.#replay(send, topic);
    if (topics.length > 0 && (!isKnown || fresh.length > 0)) send({ contact: this.#state() });
  }

  dropSilent(): void {
    for (const [send, { heard }] of this.#windows)
      if (Date.now() - heard > SILENT_MS) this.#windows.delete(send);
    this.#settle();
  }

  /** Watches what all windows want together. False if that is what it watches already. */
  #settle(): boolean {
    const topics = [...new Set([...this.#windows.values()].flatMap((one) => one.topics))].sort();
    if (topics.join() === this.#topics.join()) return false;
    this.#topics = topics;
    this.#refused.clear();
    // In a worker: the page keeps its own, and shows nothing else.
    if (this.#stream) signedOut.value = undefined;
    if (topics.length === 0) {
      this.#memory.forget();
      this.#isThere = this.#lostAt = undefined;
    }
    const streamed = this.#stream ? fitting(topics) : [];
    this.#stream?.open(streamed);
    this.#polls.watch(topics.filter((topic) => !streamed.includes(topic)));
    return true;
  }

  #replay(send: Send, topic: string): void {
    for (const told of this.#memory.of(JSON.parse(topic) as Topic)) send({ told });
  }

  #tell(told: Told): void {
    this.#memory.note(told);
    for (const send of this.#windows.keys()) send({ told });
  }

  #contact(isThere: boolean): void {
    if (isThere === this.#isThere) return;
    this.#lostAt = isThere ? undefined : Date.now();
    this.#isThere = isThere;
    this.#share();
  }

  #refuse(topic: string, why: string | undefined): void {
    if (this.#refused.get(topic) === why) return;
    if (why === undefined) this.#refused.delete(topic);
    else this.#refused.set(topic, why);
    this.#share();
  }

  #share(): void {
    for (const send of this.#windows.keys()) send({ contact: this.#state() });
  }

  #state(): Contact {
    const refused = Object.fromEntries(this.#refused);
    return { isThere: this.#isThere, lostAt: this.#lostAt, refused, signedOut: signedOut.value };
  }
}

function fitting(topics: readonly string[]): string[] {
  let jobs = 0;
  const few = topics.filter((topic) => !('job' in (JSON.parse(topic) as Topic)) || ++jobs <= MOST_JOBS);
  return few.slice(0, MOST_TOPICS);
}
