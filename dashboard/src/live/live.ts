import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { signedOut, type LiveEvents, type Topic } from '../api.js';
import { session } from '../session.js';
import { Hub } from './hub.js';
import type { Contact, Message, Send, Watched } from './messages.js';
import workerUrl from './worker.js?worker&url';

/** `paused`: the window is hidden, so nothing is asked of the server. */
export type Liveness = 'live' | 'connecting' | 'paused' | 'idle';

export const liveness = signal<Liveness>('idle');
/** Since when the app has not answered. */
export const lostAt = signal<number | undefined>(undefined);
/** Why the server refuses what this page wants to watch. */
export const refusal = signal<string | undefined>(undefined);

type Handlers = { readonly [Name in keyof LiveEvents]?: (data: LiveEvents[Name]) => void };
interface Watch {
  readonly topics: readonly string[];
  readonly on: Handlers;
}

/** Views that come and go together are told of together. */
const SETTLE_MS = 20;
const SIGN_OF_LIFE_MS = 12_000;

const watches = new Set<Watch>();
const fresh = new Set<string>();
let tellHub: ((watched: Watched) => void) | undefined;
let topics: readonly string[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;

/** Watches topics for as long as the component is there: by a stream that all windows of the browser share. */
export function useLive(wanted: readonly Topic[], on: Handlers): void {
  const text = JSON.stringify(wanted);
  useEffect(() => {
    const own = (JSON.parse(text) as Topic[]).map((one) => JSON.stringify(one));
    const watch = { topics: own, on };
    watches.add(watch);
    for (const topic of own) fresh.add(topic);
    settle();
    return () => {
      watches.delete(watch);
      settle();
    };
  }, [text]);
}

addEventListener('visibilitychange', () => settle(), true);
addEventListener('pagehide', () => tellHub?.({ topics: [], fresh: [] }));
addEventListener('pageshow', () => settle());
setInterval(() => topics.length > 0 && tellHub?.({ topics, fresh: [] }), SIGN_OF_LIFE_MS);

function settle(): void {
  clearTimeout(timer);
  timer = setTimeout(watch, SETTLE_MS);
}

function watch(): void {
  const isSeen = document.visibilityState === 'visible';
  const before = topics;
  topics = isSeen ? [...new Set([...watches].flatMap((one) => one.topics))] : [];
  if (topics.length === 0) liveness.value = isSeen ? 'idle' : 'paused';
  else if (before.length === 0) liveness.value = 'connecting';
  if (topics.length === 0) refusal.value = lostAt.value = undefined;
  if (topics.length > 0 || before.length > 0) {
    tellHub ??= hubOf(receive);
    tellHub({ topics, fresh: [...fresh] });
  }
  fresh.clear();
}

/** A user's windows share a hub in a SharedWorker. Without it each window polls: streams of many windows would take all connections. */
function hubOf(send: Send): (watched: Watched) => void {
  const polling = () => {
    const hub = new Hub(false);
    return (watched: Watched) => hub.watch(send, watched);
  };
  if (typeof SharedWorker !== 'function') return polling();
  try {
    const worker = new SharedWorker(workerUrl, { name: session.value?.user ?? '' });
    // It does not load, such as under a stricter policy of a proxy.
    worker.onerror = () => {
      tellHub = polling();
      tellHub({ topics, fresh: topics });
    };
    worker.port.onmessage = ({ data }: MessageEvent<Message>) => send(data);
    return (watched) => worker.port.postMessage(watched);
  } catch {
    return polling();
  }
}

function receive(message: Message): void {
  if ('contact' in message) return heed(message.contact);
  const [name, data] = message.told;
  for (const { on } of watches) on[name]?.(data as never);
}

function heed({ isThere, lostAt: since, refused, signedOut: why }: Contact): void {
  if (topics.length === 0) return;
  if (why !== undefined) signedOut.value = why;
  liveness.value = isThere ? 'live' : 'connecting';
  lostAt.value = since;
  refusal.value = topics.map((topic) => refused[topic]).find((why) => why !== undefined);
}
