import { describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import { vector } from '../../message-pack/vectors.js';
import type { Call } from '../http.js';
import { failure, NO_JOB, useRoutes } from './use-routes.js';

describe('bodies that are malformed, too long or of another kind', () => {
  const routes = useRoutes();
  const { master } = routes;

  describe.each([
    ['POST /job', '/job', vector('POST /job all')],
    [
      'POST /worker',
      '/worker',
      Buffer.from(encode({ name: 'w', max_jobs: 1, url: 'http://x', names: ['a'] })),
    ],
    [
      'POST /done',
      '/done',
      Buffer.from(
        encode({ job_id: NO_JOB, type: 'failure', reason: 'other', should_retry: true, message: 'm' }),
      ),
    ],
    ['POST /constraints', '/constraints', Buffer.from(encode({ match: [], concurrency: 1 }))],
  ])('%s', (_, path, whole) => {
    const post = (body: Uint8Array, call: Call = {}) =>
      master.call('POST', path, { body, worker: path === '/done' ? routes.worker : undefined, ...call });

    it('answers 400 to every truncation, and to a byte too many', async () => {
      const bodies = [
        ...Array.from(whole, (_byte, length) => whole.subarray(0, length)),
        Buffer.concat([whole, whole]),
      ];
      const replies = await Promise.all(bodies.map((body) => post(body)));
      for (const { status, body } of replies) {
        expect(status).toBe(400);
        expect(body).toEqual(failure('MALFORMED_MESSAGE'));
      }
    });

    it.each([
      ['nil', encode(null)],
      ['nesting of a hundred thousand levels', Buffer.alloc(90_000, 0x91)],
      ['a body without end', Buffer.of(0xdf, 0xff, 0xff, 0xff, 0xff)],
    ])('answers 400 to %s', async (_what, body) => {
      await expect(post(body)).resolves.toMatchObject({ status: 400, body: failure('MALFORMED_MESSAGE') });
    });

    it('answers 400 to an empty list', async () => {
      const code = path === '/done' ? 'INVALID_BATCH' : 'MALFORMED_MESSAGE';
      await expect(post(encode([]))).resolves.toMatchObject({ status: 400, body: failure(code) });
    });

    it('answers 413 to a body over the limit, and 415 to one of another kind', async () => {
      await expect(post(Buffer.alloc(100_001))).resolves.toMatchObject({
        status: 413,
        body: failure('PAYLOAD_TOO_LARGE'),
      });
      const type = (name: string) => post(whole, { headers: { 'content-type': name } });
      await expect(type('text/plain')).resolves.toMatchObject({
        status: 415,
        body: failure('UNSUPPORTED_MEDIA_TYPE'),
      });
      await expect(type('application/x-www-form-urlencoded')).resolves.toMatchObject({ status: 415 });
      await expect(post(whole, { headers: { 'content-encoding': 'gzip' } })).resolves.toMatchObject({
        status: 415,
      });
    });
  });
});
