import { afterEach } from '@jest/globals';
import type { TracingChannel } from 'node:diagnostics_channel';
import {
  instrumentation,
  subscribeTo,
  type EventListeners,
  type InstrumentationChannels,
} from '../../lib/job/instrumentation.js';

type Name = keyof InstrumentationChannels;

/** An event and the channel on which it came, such as `run:asyncEnd`. */
export interface RecordedEvent {
  readonly on: string;
  readonly event: object;
}

const STAGES = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const;

/** For a `describe`: a function that subscribes to channels until the end of the test, and what came. */
export function useRecordedEvents(): (...names: readonly Name[]) => RecordedEvent[] {
  const stops: (() => void)[] = [];
  afterEach(() => {
    for (const stop of stops.splice(0)) stop();
  });
  return (...names) => {
    const seen: RecordedEvent[] = [];
    for (const name of names) {
      const listeners = STAGES.map((stage) => [
        stage,
        (event: object) => void seen.push({ on: `${name}:${stage}`, event }),
      ]);
      const channel = instrumentation[name] as TracingChannel<unknown, object>;
      stops.push(subscribeTo(channel, Object.fromEntries(listeners) as EventListeners<object>));
    }
    return seen;
  };
}
