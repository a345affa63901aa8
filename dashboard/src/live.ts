import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { ApiFailure, apiUrl, refuse, type LiveEvents, type Topic } from './api.js';

/** `paused`: the tab is hidden, so nothing is asked of the server. */
export type Liveness = 'live' | 'connecting' | 'paused' | 'idle';

export const liveness = signal<Liveness>('idle');
/** Why the server refuses what this page wants to watch. */
export const refusal = signal<string | undefined>(undefined);

type Handlers = { readonly [Name in keyof LiveEvents]?: (data: LiveEvents[Name]) => void };
interface Watch {
  readonly topics: readonly Topic[];
  readonly on: Handlers;
}

const NAMES = ['overview', 'job', 'bulk', 'trouble'] as const;
const AGAIN_MS = 5000;
/** Views that come and go together share a connection. */
const SETTLE_MS = 20;

const watches = new Set<Watch>();
let source: EventSource | undefined;
let opened = '';
let timer: ReturnType<typeof setTimeout> | undefined;

/** Watches topics on the one connection of this tab, for as long as the component is there. */
export function useLive(topics: readonly Topic[], on: Handlers): void {
  const text = JSON.stringify(topics);
  useEffect(() => {
    const watch = { topics: JSON.parse(text) as Topic[], on };
    watches.add(watch);
    // Who comes later needs everything once.
    opened = '';
    settle();
    return () => {
      watches.delete(watch);
      settle();
    };
  }, [text]);
}

addEventListener('visibilitychange', () => settle(), true);

function settle(after = SETTLE_MS): void {
  clearTimeout(timer);
  timer = setTimeout(connect, after);
}

function connect(): void {
  const topics = [
    ...new Set([...watches].flatMap((watch) => watch.topics.map((one) => JSON.stringify(one)))),
  ];
  const isSeen = document.visibilityState === 'visible';
  const wanted = isSeen && topics.length > 0 ? `[${topics.join()}]` : '';
  if (wanted === opened && wanted !== '') return;
  source?.close();
  source = undefined;
  opened = wanted;
  refusal.value = undefined;
  liveness.value = wanted !== '' ? 'connecting' : isSeen ? 'idle' : 'paused';
  if (wanted !== '') open(wanted);
}

function open(topics: string): void {
  const own = (source = new EventSource(apiUrl('live', { topics })));
  own.onopen = () => {
    liveness.value = 'live';
    refusal.value = undefined;
  };
  own.onerror = () => {
    if (own !== source) return;
    liveness.value = 'connecting';
    // The browser tries again by itself, unless the server has refused.
    if (own.readyState === EventSource.CLOSED) void ask(topics).finally(again);
  };
  own.addEventListener('bye', () => {
    own.close();
    again();
  });
  for (const name of NAMES)
    own.addEventListener(name, ({ data }: MessageEvent<string>) => tell(name, JSON.parse(data) as never));
}

/** An EventSource does not tell why it was refused. */
async function ask(topics: string): Promise<void> {
  const controller = new AbortController();
  try {
    const response = await fetch(apiUrl('live', { topics }), { signal: controller.signal });
    await refuse(response);
  } catch (error) {
    // Without an answer the page tries again.
    if (error instanceof ApiFailure) refusal.value = error.message;
  } finally {
    controller.abort();
  }
}

function again(): void {
  opened = '';
  settle(AGAIN_MS);
}

function tell<Name extends (typeof NAMES)[number]>(name: Name, data: LiveEvents[Name]): void {
  for (const { on } of watches) on[name]?.(data);
}
