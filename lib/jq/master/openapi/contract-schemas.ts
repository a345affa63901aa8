import {
  MAX_CONDITIONS,
  MAX_PERIOD_SECONDS,
  MAX_RATE,
  MAX_VALUES,
} from '../../constraints/read-constraint.js';
import { DEFAULT_MAX_RETRY, DEFAULT_TIMEOUT_SECONDS, MAX_NAMES } from '../../wire/requests.js';
import {
  anything,
  batchOf,
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
  request,
  STATUS,
  text,
  WORKER_ID,
  type Schema,
} from './schema.js';

const RESULT = anything('Any value.');
const FINISHED_AT: Schema = { ...text('ISO 8601. Without it the time at which the report arrives.') };
const ATTEMPT: Schema = {
  ...POSITIVE,
  description: 'As it came with the job. Without it the report is of the worker’s current attempt.',
};
const REPORTED = { job_id: JOB_ID };

/** Bodies that pushers and workers send and get. */
export const CONTRACT_SCHEMAS: Readonly<Record<string, Schema>> = {
  Error: reply({ code: text('For programs.'), message: text('For people.') }),
  Enqueue: request(
    { name: NAME, argument: MAP },
    {
      priority: { ...INT32, default: 0, description: 'Smaller is preferred.' },
      max_retry: { ...POSITIVE, minimum: 0, default: DEFAULT_MAX_RETRY },
      keep_result: { ...FLAG, default: false },
      timeout: { ...POSITIVE, default: DEFAULT_TIMEOUT_SECONDS, description: 'Seconds.' },
    },
  ),
  Enqueued: reply({ job_id: JOB_ID }),
  Job: reply(
    { status: STATUS },
    {
      worker_id: WORKER_ID,
      result: anything('Of a job that is done; nil when it was not kept.'),
      error: anything('What its worker said of the last failure.'),
      message: text('Of the last failure.'),
      retry_count: COUNT,
    },
  ),
  Register: request(
    { name: NAME, max_jobs: POSITIVE },
    {
      url: {
        ...text('Where jobs are pushed: POST {url}/worker-job. Without it the worker pulls.'),
        format: 'uri',
      },
      names: { ...listOf(NAME), minItems: 1, maxItems: MAX_NAMES, description: 'The only jobs it wants.' },
      batch: {
        ...POSITIVE,
        default: 1,
        description:
          'How many jobs it takes in one push, as an array of WorkerJob. It is then told of `batch`.',
      },
    },
  ),
  Registered: reply(
    { worker_id: WORKER_ID },
    {
      batch: {
        ...POSITIVE,
        description: 'How many reports the master takes in one request; only for a worker that said `batch`.',
      },
    },
  ),
  WorkerJob: reply(
    {
      id: JOB_ID,
      job_id: JOB_ID,
      name: NAME,
      argument: MAP,
      timeout: POSITIVE,
      attempt: POSITIVE,
      retry_count: { ...COUNT, description: 'How often it was begun before.' },
    },
    {
      last_attempt: { ...FLAG, description: 'Sent as true if the job ends when it fails now.' },
      waited_ms: {
        ...COUNT,
        description: 'Only for a pull: how long it had waited when the job was handed out, in milliseconds.',
      },
    },
  ),
  Push: {
    oneOf: [
      ref('WorkerJob'),
      { ...batchOf(ref('WorkerJob')), description: 'For workers that said `batch`.' },
    ],
  },
  HandOut: request({ job_id: JOB_ID, attempt: POSITIVE }),
  Done: {
    oneOf: [
      request(
        { ...REPORTED, type: oneOf('success') },
        { result: RESULT, finished_at: FINISHED_AT, attempt: ATTEMPT },
      ),
      request(
        {
          ...REPORTED,
          type: oneOf('failure'),
          reason: oneOf('timeout', 'other'),
          should_retry: FLAG,
          message: text(),
        },
        { error: RESULT, finished_at: FINISHED_AT, attempt: ATTEMPT },
      ),
    ],
  },
  Reports: {
    oneOf: [
      ref('Done'),
      { ...batchOf(ref('Done')), description: 'Several, each taken or refused by itself.' },
    ],
  },
  Verdicts: {
    ...batchOf(
      reply(
        { status: { type: 'integer', description: 'What the report alone would have been answered with.' } },
        {
          code: text('Of an error, for programs.'),
          message: text('Of an error, for people.'),
          retry_after: { ...COUNT, description: 'Seconds, with 503.' },
        },
      ),
    ),
    description: 'One for each report, in their order.',
  },
  Condition: {
    ...reply(
      { field: text('"name", or "argument" with a path such as "argument.tenant.id".') },
      {
        equal: anything('Text, a number, true, false or nil.'),
        in: { ...listOf(anything('As `equal`.')), maxItems: MAX_VALUES },
        glob: text('`*` stands for any characters, `?` for one.'),
        min: { type: 'number' },
        max: { type: 'number' },
        exists: FLAG,
      },
    ),
    minProperties: 2,
  },
  ConstraintRequest: request({}, constraint()),
  Constraint: reply({ id: text(), match: listOf(ref('Condition')) }, constraint()),
  ConstraintList: reply({ constraints: listOf(ref('Constraint')) }),
  Health: reply({ status: oneOf('ok') }),
  OpenApi: { type: 'object', description: 'This document.' },
};

function constraint(): Readonly<Record<string, Schema>> {
  return {
    match: { ...listOf(ref('Condition')), maxItems: MAX_CONDITIONS },
    per: text('A field: jobs count together only with those of the same value.'),
    rate: reply({
      count: { type: 'integer', minimum: 1, maximum: MAX_RATE },
      period: { type: 'integer', minimum: 1, maximum: MAX_PERIOD_SECONDS, description: 'Seconds.' },
    }),
    concurrency: POSITIVE,
  };
}
