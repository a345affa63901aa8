import { messageOf } from '../../../job/errors.js';
import type { Feature } from '../../core/feature.js';
import { JobStreams } from './job-streams.js';
import { RedisStreams, StreamWriter } from './redis-streams.js';
import type { StreamsStore } from './stream-store.js';
import { StreamsClient } from './streams-client.js';

/** What jobs stream while they run: chunks, and lines of their log. */
export const streams: Feature<StreamsStore> = {
  name: 'streams',
  store: (server) => new RedisStreams(server),
  client: StreamsClient,
  source: ({ connections, keysOf, problems }) => ({
    streams: new StreamWriter(connections.commands, keysOf, (fn, error) =>
      problems.report(`streams ${fn}`, `What jobs of "${fn}" stream waits: ${messageOf(error)}`),
    ),
  }),
  handle: (core) => {
    const jobs = new JobStreams(core);
    return { stream: (ref, key, kind) => jobs.stream(ref, key, kind) };
  },
};
