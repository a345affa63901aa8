import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { createGzip } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import { progress, Worker, type ProgressUpdate, type RunningJob } from 'nestjs-gearmonkey';
import { digest, type Digest, type DigestInput } from './digest.job.js';
import { countLines } from './lines.js';

/** Smaller files report no progress. */
export const PROGRESS_STEP_BYTES = 256 * 1024;

/** The handler: reads a file once, as a stream. */
@Injectable()
export class Digester {
  @Worker(digest, { concurrency: 8 })
  async *digest({ path, size }: DigestInput, job: RunningJob): AsyncGenerator<ProgressUpdate, Digest> {
    const started = performance.now();
    const hash = createHash('sha256');
    const gzip = createGzip();
    let [bytes, lines, gzipped, reported] = [0, 0, 0, 0];
    gzip.on('data', (chunk: Buffer) => (gzipped += chunk.length));

    for await (const chunk of createReadStream(path, { signal: job.signal }) as AsyncIterable<Buffer>) {
      hash.update(chunk);
      bytes += chunk.length;
      lines += countLines(chunk);
      if (!gzip.write(chunk)) await once(gzip, 'drain');
      if (bytes - reported >= PROGRESS_STEP_BYTES) {
        reported = bytes;
        yield progress(bytes, Math.max(bytes, size));
      }
    }
    gzip.end();
    await once(gzip, 'end');

    const ms = performance.now() - started;
    return { sha256: hash.digest('hex'), bytes, lines, gzipRatio: bytes / gzipped, ms, pid: process.pid };
  }
}
