import type { ChannelHub } from '../../redis/channel-hub.js';
import {
  parseEvent,
  parseFlow,
  parseProgress,
  parseReply,
  parseStreamed,
  type FunctionKeys,
} from '../wire/protocol.js';
import type { JobListener } from './job-store.js';

/** Who listens to a function. */
export interface Hearing {
  readonly fn: string;
  /** The name under which outputs are sent to it. */
  readonly inbox: string;
  readonly listener: JobListener;
}

/** Subscribes to a function's channels. Each promise resolves with a function that unsubscribes. */
export function hear(
  hub: ChannelHub,
  { channel, progress, replies }: FunctionKeys,
  { fn, inbox, listener }: Hearing,
): Promise<() => void>[] {
  return [
    hub.listen(channel, {
      message: (text) => {
        const event = parseEvent(text);
        if (event) listener.event({ ...event, fn });
      },
      resync: () => listener.resync(),
    }),
    hub.listen(progress, {
      message: (text) => {
        const flow = parseFlow(text);
        if (flow !== undefined) return listener.flowed?.(flow);
        const streamed = parseStreamed(text);
        if (streamed) return listener.streamed?.(streamed, streamed.kind);
        const update = parseProgress(text);
        if (!update) return;
        const { mark, ...progress } = update;
        listener.progress({ ...progress, fn }, mark);
      },
    }),
    hub.listen(replies + inbox, {
      message: (text) => {
        const reply = parseReply(text);
        if (reply) listener.replied?.(reply, reply.output);
      },
    }),
  ];
}
