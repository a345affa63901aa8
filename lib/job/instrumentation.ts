import { tracingChannel, type TracingChannel } from 'node:diagnostics_channel';
import type { Claim, Outcome } from './job-source.js';

/** What all events have in common. One object stands for one event, from its `start` to its end. */
export interface InstrumentedEvent {
  /** Whose jobs: `gearmonkey`, `memory`, `qless`, `jq` or `jobd`. */
  readonly system: string;
  /** The server's address, without credentials. */
  readonly server?: string | undefined;
  /** What was thrown, or why a run failed. */
  error?: unknown;
}

/** `gearmonkey:enqueue`: a client enqueues jobs of one function. */
export interface EnqueueEvent extends InstrumentedEvent {
  readonly fn: string;
  readonly count: number;
  /**
   * What a subscriber to `start` puts here travels as headers with the jobs. Headers of the call go before it. It is left
   * out if it exceeds their limits. Undefined in systems without headers.
   */
  readonly headers?: Record<string, string> | undefined;
  /** The ids of the jobs, at the end; with unique jobs also of those that were there before. */
  ids?: readonly string[];
}

/** `gearmonkey:claim`: a worker waits for jobs, and gets them. */
export interface ClaimEvent extends InstrumentedEvent {
  /** The functions that have free slots at the start. */
  readonly functions: readonly string[];
  /** At the end. */
  claims?: readonly Claim[];
}

/** How a run ended: its outcome, `lost` if its lease was lost, or `cancelled`. */
export type RunEnd = Outcome['status'] | 'lost' | 'cancelled';

/** `gearmonkey:run`: a worker runs a handler. `asyncEnd` comes once, when the outcome is known. */
export interface RunEvent extends InstrumentedEvent {
  readonly claim: Claim;
  /** The number of this attempt, without stalled ones. */
  readonly attempt: number;
  /** At the end. */
  end?: RunEnd;
  /** Milliseconds, at the end. */
  duration?: number;
  /** A subscriber to `start` may set it, to run the handler inside a context. It must call `run`, once and at once. */
  runIn?: (run: () => void) => void;
}

/** `gearmonkey:settle`: a worker writes the outcomes of jobs. */
export interface SettleEvent extends InstrumentedEvent {
  readonly outcomes: readonly Outcome[];
  /** The claims whose outcome was refused because their lease had ended. At the end. */
  refused?: readonly Claim[];
}

/** `gearmonkey:lease`: a claim no longer holds. Only `start` and `end`, one after the other. */
export interface LeaseEvent extends InstrumentedEvent {
  readonly claim: Claim;
  /** `lost` to another worker, `cancelled`, or found lost when its outcome was `refused`. */
  readonly state: 'lost' | 'cancelled' | 'refused';
}

/** `gearmonkey:turn`: a worker's call to Redis, which writes outcomes and claims jobs of one function. */
export interface TurnEvent extends InstrumentedEvent {
  readonly fn: string;
  /** How many jobs it asked for. */
  readonly slots: number;
  /** How many outcomes it wrote. */
  readonly outcomes: number;
  /** How many jobs it got. At the end. */
  claimed?: number;
  /** Milliseconds that it may have waited behind a blocking call. */
  readonly blocked: number;
}

/** `@types/node` has the type of the event first from 26 on, and that of the bound store before. */
type HasEventFirst = NonNullable<
  Parameters<TracingChannel<{ first: true }, { first: false }>['traceSync']>[1]
>['first'];

/** The channel of an event. Stores of every type may be bound to it. */
export type EventChannel<E extends object> = TracingChannel<
  HasEventFirst extends true ? E : unknown,
  HasEventFirst extends true ? unknown : E
>;

/** Channels of node:diagnostics_channel, by the names of their events. */
export interface InstrumentationChannels {
  readonly enqueue: EventChannel<EnqueueEvent>;
  readonly claim: EventChannel<ClaimEvent>;
  readonly run: EventChannel<RunEvent>;
  readonly settle: EventChannel<SettleEvent>;
  readonly lease: EventChannel<LeaseEvent>;
  readonly turn: EventChannel<TurnEvent>;
}

/** One whose `bindStore` takes every store. */
function channelOf<E extends object>(name: string): EventChannel<E> {
  return tracingChannel<HasEventFirst extends true ? E : unknown, HasEventFirst extends true ? unknown : E>(
    name,
  );
}

/**
 * What happens to jobs in this process, as tracing channels of node:diagnostics_channel: `gearmonkey:enqueue` and so on.
 * Without a subscriber no event is made. A subscriber that throws ends the process, as Node has it.
 */
export const instrumentation: InstrumentationChannels = Object.freeze({
  enqueue: channelOf<EnqueueEvent>('gearmonkey:enqueue'),
  claim: channelOf<ClaimEvent>('gearmonkey:claim'),
  run: channelOf<RunEvent>('gearmonkey:run'),
  settle: channelOf<SettleEvent>('gearmonkey:settle'),
  lease: channelOf<LeaseEvent>('gearmonkey:lease'),
  turn: channelOf<TurnEvent>('gearmonkey:turn'),
});

/** Listeners to the stages of an event. */
export type EventListeners<E> = {
  readonly [Stage in 'start' | 'end' | 'asyncStart' | 'asyncEnd' | 'error']?: (event: E) => void;
};

/** Subscribes to some stages of a channel. Returns a function that unsubscribes. */
export function subscribeTo<E extends object>(
  channel: EventChannel<E>,
  listeners: EventListeners<E>,
): () => void {
  const { start, end, asyncStart, asyncEnd, error } = channel;
  const stages = Object.entries({ start, end, asyncStart, asyncEnd, error });
  const stops = stages.flatMap(([stage, one]) => {
    const listener = listeners[stage as keyof EventListeners<E>];
    if (!listener) return [];
    const hear = (event: unknown) => listener(event as E);
    one.subscribe(hear);
    return [() => one.unsubscribe(hear)];
  });
  return () => stops.forEach((stop) => stop());
}

/** Publishes an event around a call, and completes it from the result. */
export function traced<E extends object, T>(
  channel: EventChannel<E>,
  event: E,
  call: () => Promise<T>,
  complete: (event: E, result: T) => void,
): Promise<T> {
  const run = async () => {
    const result = await call();
    complete(event, result);
    return result;
  };
  return channel.tracePromise(run, event);
}

/** Publishes an enqueue. Check `hasSubscribers` first: without a subscriber no event is to be made. */
export function tracedEnqueue<T>(
  event: EnqueueEvent,
  enqueue: () => Promise<T>,
  idsOf: (result: T) => readonly string[],
): Promise<T> {
  return traced(instrumentation.enqueue, event, enqueue, (ended, result) => (ended.ids = idsOf(result)));
}
