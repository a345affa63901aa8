import { ApiFailure, apiUrl, refuse, signedOut, type LiveEvents } from '../api.js';
import type { Listener, Told } from './messages.js';

const NAMES = ['overview', 'job', 'bulk', 'trouble'] as const;
const AGAIN_MS = 5000;
/** Answers that are about a topic, not about who asks or how many do. */
const OF_TOPICS: ReadonlySet<number> = new Set([400, 403, 404]);

/** The stream of some topics: opened again when it ends, and without topics that the server refuses. */
export class Stream {
  #source: EventSource | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly on: Listener) {}

  open(topics: readonly string[]): void {
    this.close();
    if (topics.length === 0) return;
    const own = (this.#source = new EventSource(liveUrl(topics)));
    own.onopen = () => {
      signedOut.value = undefined;
      for (const topic of topics) this.on.refuse(topic, undefined);
      this.on.contact(true);
    };
    own.onerror = () => {
      if (own !== this.#source) return;
      this.on.contact(false);
      // The browser tries again by itself, unless the server has refused.
      if (own.readyState === EventSource.CLOSED) void this.#learnWhy(topics, own);
    };
    own.addEventListener('bye', ({ data }: MessageEvent<string>) => {
      own.close();
      const { why } = JSON.parse(data) as LiveEvents['bye'];
      this.#again(topics, why === 'connect again' ? 0 : AGAIN_MS);
    });
    for (const name of NAMES)
      own.addEventListener(name, ({ data }: MessageEvent<string>) =>
        this.on.tell([name, JSON.parse(data)] as Told),
      );
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = undefined;
  }

  #again(topics: readonly string[], after = AGAIN_MS): void {
    this.#timer = setTimeout(() => this.open(topics), after);
  }

  /** A topic of one window must not cost the others their stream. */
  async #learnWhy(topics: readonly string[], own: EventSource): Promise<void> {
    const refusal = await ask(topics);
    const isOfTopics = refusal !== undefined && OF_TOPICS.has(refusal.status) && topics.length > 1;
    const each = isOfTopics
      ? await Promise.all(topics.map((topic) => ask([topic])))
      : topics.map(() => refusal);
    if (own !== this.#source) return;
    for (const [index, topic] of topics.entries()) {
      const { message } = each[index] ?? {};
      if (message !== undefined) this.on.refuse(topic, message);
    }
    const rest = topics.filter((_, index) => each[index] === undefined);
    if (isOfTopics && rest.length > 0 && rest.length < topics.length) this.open(rest);
    else this.#again(topics);
  }
}

function liveUrl(topics: readonly string[]): string {
  return apiUrl('live', { topics: `[${topics.join()}]` });
}

/** Why the server refuses: an EventSource does not tell. */
async function ask(topics: readonly string[]): Promise<ApiFailure | undefined> {
  const controller = new AbortController();
  try {
    await refuse(await fetch(liveUrl(topics), { signal: controller.signal }));
    return undefined;
  } catch (error) {
    // Without an answer it is tried again.
    return error instanceof ApiFailure ? error : undefined;
  } finally {
    controller.abort();
  }
}
