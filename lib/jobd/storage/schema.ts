import type { Kysely } from 'kysely';
import { DatabaseSetupError } from './errors.js';

/** The states of a row, as its `status` column has them. */
export type JobStatus = 'waiting' | 'manual' | 'accepted' | 'running' | 'done' | 'ignored';

/** The table of jobs. Times are seconds since 1970, 0 for not yet. */
export interface JobsTable {
  id: number;
  target: string;
  time_created: number;
  time_started: number;
  time_finished: number;
  status: JobStatus;
  result: 'ok' | 'fail' | null;
  return_code: number | null;
  sig: string | null;
  stdout: string | null;
  stderr: string | null;
  /** Optional: the row isn't fetched before this time. */
  time_scheduled: number;
  /** Optional: how often the job was begun. */
  attempts: number;
  /** Optional: how often it may be begun in all; NULL leaves that to the target. */
  max_attempts: number | null;
  /** Optional: seconds a run may take; NULL leaves that to the target. */
  timeout: number | null;
}

/** Which daemon has accepted which row, and what the row was before. */
export interface OwnersTable {
  job_id: number;
  /** The daemon's instance. */
  owner: string;
  origin: 'waiting' | 'manual';
}

/** Daemons that work on the table, or did. */
export interface DaemonsTable {
  /** New with each start. */
  instance: string;
  name: string;
  /** Where its process can be looked for; see `ownIdentity`. */
  machine: string;
  process: string;
  /** Counts up as long as it lives. */
  beat: number;
}

export interface JobdSchema {
  jobs: JobsTable;
  owners: OwnersTable;
  daemons: DaemonsTable;
}

export type JobdDatabase = Kysely<JobdSchema>;

/** The tables' real names, typed as the schema's, so that queries are checked. */
export interface TableNames {
  readonly jobs: 'jobs';
  readonly owners: 'owners';
  readonly daemons: 'daemons';
}

/** A name, or schema and name, short enough for our suffixes. */
const TABLE = /^(?:[\w$-]{1,64}\.)?[\w$-]{1,48}$/;

/** @throws DatabaseSetupError */
export function tableNames(table: string): TableNames {
  if (!TABLE.test(table)) {
    throw new DatabaseSetupError(
      `Expected \`table\` to be a name of at most 48 letters, digits, _, $ and -, got '${table.slice(0, 80)}'.`,
    );
  }
  return {
    jobs: table as 'jobs',
    owners: `${table}_owners` as 'owners',
    daemons: `${table}_daemons` as 'daemons',
  };
}
