/** How many pulls try when a job has come up; each that gets one lets the next try. */
const PULLS_AT_ONCE = 4;

/** "=" and a name with a new job, or "@" and a worker that has room again. */
type Topic = string;

/** For pulls of all names. */
const ANY: Topic = '=';

/** A pull that waits. Once it has asked, its wake-ups are passed on to others. */
export class PullWait {
  /** By topic the number of the message that woke it: pulls that have asked since don't need it. */
  readonly heard = new Map<Topic, number>();
  readonly woken: Promise<void>;
  private resolve: () => void = () => undefined;
  private readonly timer: NodeJS.Timeout;

  constructor(
    readonly topics: readonly Topic[],
    /** The number of the last message before it asked. */
    readonly asked: number,
    ms: number,
    private readonly signal: AbortSignal | undefined,
    private readonly leave: (wait: PullWait) => void,
  ) {
    this.woken = new Promise((resolve) => (this.resolve = resolve));
    this.timer = setTimeout(this.end, ms);
    signal?.addEventListener('abort', this.end);
    if (signal?.aborted) this.end();
  }

  readonly end = (): void => {
    clearTimeout(this.timer);
    this.signal?.removeEventListener('abort', this.end);
    this.leave(this);
    this.resolve();
  };
}

/**
 * Pulls that wait, by the names that their workers want: a job that comes up wakes a few of those who may have it, the
 * longest waiting first, and no others.
 */
export class PullWaits {
  private readonly byTopic = new Map<Topic, Set<PullWait>>();
  private words = 0;

  /** @param names those that the worker takes; `undefined` while unknown, empty for all */
  wait(worker: string, names: readonly string[] | undefined, ms: number, signal?: AbortSignal): PullWait {
    const topics = names && names.length > 0 ? names.map((name) => `=${name}`) : [ANY];
    const wait = new PullWait([...topics, `@${worker}`], this.words, ms, signal, (gone) => this.remove(gone));
    for (const topic of wait.topics) this.add(topic, wait);
    return wait;
  }

  /** @param told topics as JSON; '' if there are too many to name */
  hear(told: string): void {
    this.words += 1;
    const topics = told === '' ? Array.from(this.byTopic.keys()) : (JSON.parse(told) as Topic[]);
    for (const topic of topics) this.wake(topic, this.words, PULLS_AT_ONCE);
  }

  /** Lets one more of the waiting requests that these messages concern try, unless it has asked since. */
  handOn(heard: ReadonlyMap<Topic, number>): void {
    for (const [topic, word] of heard) this.wake(topic, word, 1);
  }

  wakeAll(): void {
    for (const waits of Array.from(this.byTopic.values())) for (const wait of Array.from(waits)) wait.end();
  }

  /** Pulls of a topic are in the order in which they asked: after one that asked since the message, all have. */
  private wake(topic: Topic, word: number, count: number): void {
    for (let i = 0; i < count; i++) {
      const wait = this.first(topic, word) ?? (topic.startsWith('=') ? this.first(ANY, word) : undefined);
      if (!wait) return;
      wait.heard.set(topic, word);
      wait.end();
    }
  }

  private first(topic: Topic, word: number): PullWait | undefined {
    const [wait] = this.byTopic.get(topic) ?? [];
    return wait && wait.asked < word ? wait : undefined;
  }

  private add(topic: Topic, wait: PullWait): void {
    const waits = this.byTopic.get(topic) ?? new Set();
    this.byTopic.set(topic, waits.add(wait));
  }

  private remove(wait: PullWait): void {
    for (const topic of wait.topics) {
      const waits = this.byTopic.get(topic);
      waits?.delete(wait);
      if (waits?.size === 0) this.byTopic.delete(topic);
    }
  }
}
