import { defineJob } from 'nestjs-gearmonkey';

/** The file itself is not sent: the worker reads it. */
export interface DigestInput {
  path: string;
  /** Size in bytes, for the progress. */
  size: number;
}

export interface Digest {
  sha256: string;
  bytes: number;
  lines: number;
  /** Size before gzip divided by size after. */
  gzipRatio: number;
  /** How long the job took. */
  ms: number;
  /** The process that ran it. */
  pid: number;
}

export const digest = defineJob<DigestInput, Digest>('demo-digest');
