import { messageOf } from '../../../job/errors.js';
import type { Feature } from '../../core/feature.js';
import { JobRecordings } from './job-recordings.js';
import type { RecordsStore } from './record-store.js';
import { RecordsClient } from './records-client.js';
import { RedisRecordings } from './redis-recordings.js';
import { RedisRecords } from './redis-records.js';

/** What jobs record while they run: steps, streams of chunks and of lines, and the signals that they wait for. */
export const records: Feature<RecordsStore> = {
  name: 'records',
  store: (server) => new RedisRecordings(server),
  client: RecordsClient,
  source: ({ connections, keysOf, problems }) => ({
    records: new RedisRecords(connections.commands, keysOf, undefined, undefined, (fn, error) =>
      problems.report(`records ${fn}`, `What jobs of "${fn}" record waits: ${messageOf(error)}`),
    ),
  }),
  handle: (core) => {
    const jobs = new JobRecordings(core);
    return {
      signal: (ref, key, name, data) => jobs.signal(ref, key, name, data),
      stream: (ref, key, kind) => jobs.stream(ref, key, kind),
    };
  },
};
