import {
  anything,
  COUNT,
  FLAG,
  INT32,
  JOB_ID,
  listOf,
  MAP,
  NAME,
  oneOf,
  POSITIVE,
  ref,
  reply,
  STATUS,
  text,
  TIME,
  WORKER_ID,
  type Schema,
} from './schema.js';

const CURSOR = text('For the page that follows; absent on the last.');

const SUMMARY = {
  id: JOB_ID,
  name: NAME,
  status: STATUS,
  since: { ...TIME, description: 'When it got its status.' },
  priority: INT32,
  enqueued_at: TIME,
  retry_count: COUNT,
};
const SUMMARY_OPTIONAL = { worker_id: WORKER_ID, message: text('Of the last failure.') };

const WORKER = {
  id: WORKER_ID,
  name: NAME,
  max_jobs: POSITIVE,
  state: oneOf('live', 'suspect', 'lost'),
  running: { ...COUNT, description: 'How many jobs it has.' },
  failures: { ...COUNT, description: 'Failed pushes and timed-out jobs in a row.' },
  registered_at: TIME,
  seen_at: TIME,
};
const WORKER_OPTIONAL = {
  url: text('Absent for one that pulls.'),
  rests_until: { ...TIME, description: 'Until when it gets nothing.' },
};

/** What the routes under /api answer. */
export const API_SCHEMAS: Readonly<Record<string, Schema>> = {
  JobSummary: reply(SUMMARY, SUMMARY_OPTIONAL),
  JobPage: reply({ jobs: listOf(ref('JobSummary')) }, { cursor: CURSOR }),
  JobDetails: reply(
    {
      ...SUMMARY,
      max_retry: COUNT,
      keep_result: FLAG,
      timeout: { ...POSITIVE, description: 'Seconds.' },
      attempt: { ...COUNT, description: 'How often it was handed out.' },
      failures: COUNT,
      losses: { ...COUNT, description: 'How often its worker was lost.' },
      constraints: { ...listOf(text()), description: 'Ids of those that it falls under.' },
      attempts: listOf(ref('Attempt')),
    },
    {
      ...SUMMARY_OPTIONAL,
      handed_at: TIME,
      ended_at: TIME,
      finished_at: text('As its worker wrote it, or when the report arrived.'),
      next_attempt_at: TIME,
      waits_for: text('The constraint that it waits for.'),
      argument: { ...MAP, description: 'Absent once the job is done.' },
      error: anything('What its worker said of the last failure.'),
      result: anything('Of a job that is done and whose result is kept.'),
    },
  ),
  Attempt: reply(
    {
      attempt: POSITIVE,
      worker_id: WORKER_ID,
      handed_at: TIME,
      ended_at: TIME,
      outcome: text('Why it came to nothing: other, timeout, lost or refused.'),
    },
    { message: text() },
  ),
  Worker: reply(WORKER, WORKER_OPTIONAL),
  WorkerPage: reply({ workers: listOf(ref('Worker')) }, { cursor: CURSOR }),
  WorkerDetails: reply(
    { ...WORKER, jobs: { ...listOf(JOB_ID), maxItems: 100 } },
    { ...WORKER_OPTIONAL, names: { ...listOf(NAME), description: 'The only jobs it wants.' } },
  ),
  Counts: reply({
    queued: COUNT,
    running: COUNT,
    retrying: COUNT,
    error: COUNT,
    done: COUNT,
    workers: COUNT,
  }),
  NamePage: reply(
    {
      names: listOf(reply({ name: NAME, queued: COUNT, retrying: COUNT, error: COUNT, done: COUNT })),
    },
    { cursor: CURSOR },
  ),
  Cleared: reply({ count: COUNT, more: { ...FLAG, description: 'Whether there are others.' } }),
};
