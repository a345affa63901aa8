import { Pool } from 'undici';
import { encode } from '@msgpack/msgpack';

export const IN_FLIGHT = 100;

/** Sends the same POST so often, so many at a time. @returns seconds */
export async function postMany(url, body, count) {
  const pool = new Pool(url, { connections: IN_FLIGHT });
  const headers = { 'content-type': 'application/msgpack' };
  let left = count;
  const started = performance.now();
  const sender = async () => {
    while (left-- > 0) {
      const reply = await pool.request({ method: 'POST', path: '/job', headers, body });
      await reply.body.arrayBuffer();
      if (reply.statusCode !== 201) throw new Error(`Expected 201, got ${reply.statusCode}.`);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, sender));
  const seconds = (performance.now() - started) / 1000;
  await pool.close();
  return seconds;
}

/** The body of `POST /job`. */
export function jobBody(name) {
  return Buffer.from(encode({ name, argument: { to: 'ada@example.com' } }));
}
