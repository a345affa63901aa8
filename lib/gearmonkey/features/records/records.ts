import type { JobStore } from '../../core/client/job-store.js';
import type { Feature } from '../../core/feature.js';
import { JobRecordings } from './job-recordings.js';
import type { RecordStore } from './record-store.js';
import { RecordsClient } from './records-client.js';

/** What jobs record while they run: steps, streams of chunks and of lines, and the signals that they wait for. */
export const records: Feature<JobStore & RecordStore> = {
  name: 'records',
  client: RecordsClient,
  handle: (core) => {
    const jobs = new JobRecordings(core);
    return {
      signal: (ref, key, name, data) => jobs.signal(ref, key, name, data),
      stream: (ref, key, kind) => jobs.stream(ref, key, kind),
    };
  },
};
