import type { IncomingMessage } from 'node:http';
import { MalformedMessageError } from '../../job/message-pack/message-pack-errors.js';
import { GearMonkeyError } from '../../job/errors.js';

/** Limits of a body. */
export interface BodyLimits {
  readonly maxBodyBytes: number;
  readonly maxDepth: number;
}

/** A body that is longer than the limit. */
export class BodyTooLargeError extends GearMonkeyError {
  readonly code = 'PAYLOAD_TOO_LARGE';

  constructor(readonly limit: number) {
    super(`A body has at most ${limit} bytes.`);
  }
}

/** A body that is compressed: it could grow without a limit. */
export class CompressedBodyError extends GearMonkeyError {
  readonly code = 'UNSUPPORTED_MEDIA_TYPE';

  constructor() {
    super('Compressed bodies are not read. Send it without a Content-Encoding.');
  }
}

/**
 * Reads the whole body; the rest of one that is too long is dropped. Without the iterator of streams, which costs as much
 * as all else of a small request.
 *
 * @throws BodyTooLargeError, CompressedBodyError, and MalformedMessageError when it is cut off
 */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const { 'content-length': length, 'content-encoding': encoding = 'identity' } = request.headers;
  if (encoding !== 'identity') throw new CompressedBodyError();
  if (Number(length) > limit) throw new BodyTooLargeError(limit);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const cutOff = () => reject(new MalformedMessageError('it is cut off', bytes));
    request
      .on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= limit) return void chunks.push(chunk);
        chunks.length = 0;
        reject(new BodyTooLargeError(limit));
      })
      .once('end', () => {
        // Each request closes in the end, and an error costs more than all else here.
        request.off('close', cutOff);
        resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
      })
      .once('error', cutOff)
      .once('close', cutOff);
  });
}
