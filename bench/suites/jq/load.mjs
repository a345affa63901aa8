import { Pool } from 'undici';
import { encode } from '@msgpack/msgpack';

export const IN_FLIGHT = 100;
const MESSAGE_PACK = { 'content-type': 'application/msgpack' };

/** Sends the same POST many times with a fixed number in flight. @returns seconds */
export async function postMany(url, body, count) {
  const pool = new Pool(url, { connections: IN_FLIGHT });
  let left = count;
  const started = performance.now();
  const sender = async () => {
    while (left-- > 0) {
      const reply = await pool.request({ method: 'POST', path: '/job', headers: MESSAGE_PACK, body });
      await reply.body.arrayBuffer();
      if (reply.statusCode !== 201) throw new Error(`Expected 201, got ${reply.statusCode}.`);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, sender));
  const seconds = (performance.now() - started) / 1000;
  await pool.close();
  return seconds;
}

/** One request. */
export async function post(url, path, body) {
  const response = await fetch(url + path, { method: 'POST', headers: MESSAGE_PACK, body });
  await response.arrayBuffer();
  if (response.status !== 201) throw new Error(`Expected 201, got ${response.status}.`);
}

/** A job of just under 4 MiB whose argument is a map of two million entries. */
export function largeJobBody() {
  const entries = 2_097_000;
  const head = Buffer.concat([Buffer.of(0x82), ...['name', 'large', 'argument'].map((word) => encode(word))]);
  const map = Buffer.alloc(5, 0xdf);
  map.writeUInt32BE(entries + 1, 1);
  const tenant = Buffer.concat([encode('tenant'), encode('x')]);
  return Buffer.concat([head, map, Buffer.alloc(2 * entries, 1), tenant]);
}

/** The body of `POST /job`. */
export function jobBody(name) {
  return Buffer.from(encode({ name, argument: { to: 'ada@example.com' } }));
}
