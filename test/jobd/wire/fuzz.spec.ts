import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { eventually } from '../../support/until.js';
import { useWorker } from './use-worker.js';

const SEED = 7080;
const MUTATIONS = 10_000;
const A_CONNECTION = 100;
const LAST = '[0,{"no":424242,"type":"poll","data":{"targets":["low"]}}]';
const LAST_REPLY = '[1,{"no":424242,"data":"ok"}]';

const VALID = [
  '[0,{"no":1,"type":"poll","data":{"targets":["low"]}}]\x04',
  '[0,{"no":2,"type":"status"}]\x04',
  '[0,{"no":3,"type":"pause","data":{"targets":["low","high"]},"password":"x"}]\x04',
  '[0,{"no":4,"type":"add-target","data":{"target":"low","concurrency":1}}]\x04',
  '[0,{"no":5,"type":"run-manual","data":{"ids":[1,2,3]}}]\x04',
  '[0,{"no":6,"type":"send-signal","data":{"jobs":{"1":"SIGTERM","2":9}}}]\x04',
  '[1,{"no":1,"data":"ok"}]\x04',
  '[1,{"no":1,"error":"x"}]\x04[2]\x04[3]\x04',
];

/** One change to bytes that were in order. */
type Mutation = (bytes: Buffer) => Buffer;

const at = fc.nat({ max: 200 });
const junk = fc.uint8Array({ maxLength: 12 });
const replaced = (bytes: Buffer, from: number, to: number, by: Uint8Array) =>
  Buffer.concat([bytes.subarray(0, from), by, bytes.subarray(to)]);

const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.tuple(at, fc.nat({ max: 255 })).map(
    ([position, value]): Mutation =>
      (bytes) =>
        replaced(bytes, position % bytes.length, (position % bytes.length) + 1, Uint8Array.of(value)),
  ),
  fc.tuple(at, junk).map(
    ([position, inserted]): Mutation =>
      (bytes) =>
        replaced(bytes, position % bytes.length, position % bytes.length, inserted),
  ),
  fc.tuple(at, at).map(
    ([from, length]): Mutation =>
      (bytes) =>
        replaced(bytes, from % bytes.length, (from % bytes.length) + length, Buffer.alloc(0)),
  ),
  fc
    .constantFrom('null', '-1', '1e400', '[]', '{}', '"__proto__"', '99999999999999999999', '\\ud800')
    .chain((value) =>
      at.map((position): Mutation => (bytes) => {
        const fields = [...bytes.toString('latin1').matchAll(/(?<=:)[^,{}[\]]+/g)];
        const field = fields[position % Math.max(1, fields.length)];
        return field
          ? replaced(bytes, field.index, field.index + field[0].length, Buffer.from(value))
          : bytes;
      }),
    ),
);

const message = fc
  .tuple(fc.constantFrom(...VALID), fc.array(mutation, { minLength: 1, maxLength: 3 }))
  .map(([text, mutations]) =>
    mutations.reduce<Buffer>(
      (bytes, mutate) => (bytes.length > 0 ? mutate(bytes) : bytes),
      Buffer.from(text),
    ),
  );

describe('a worker that is sent mutated messages', () => {
  const worker = useWorker();

  it(`survives ${MUTATIONS} of them, replies in the protocol's form only, and serves others meanwhile`, async () => {
    const other = await worker.client();
    const messages = fc.sample(message, { seed: SEED, numRuns: MUTATIONS });
    let replies = 0;
    for (let sent = 0; sent < messages.length; sent += A_CONNECTION) {
      const client = await worker.client();
      client.write(Buffer.concat(messages.slice(sent, sent + A_CONNECTION)));
      await expect(other.ask('[0,{"no":1,"type":"poll"}]')).resolves.toEqual(['[1,{"no":1,"data":"ok"}]']);
      // An EOT first: the last message may have lost its own.
      client.send('', LAST);
      await eventually(() => expect(client.received).toContain(LAST_REPLY), {
        message: 'The last request is not answered',
      });
      const answers = client.received;
      for (const answer of answers)
        expect(answer).toMatch(/^\[1,\{"no":-?[\d.e+]+,"(data|error)":.*\}\]$|^\[3\]$/s);
      replies += answers.length;
      client.close();
    }
    expect(replies).toBeGreaterThan(MUTATIONS / 10);
    await expect(other.answers('[0,{"no":1,"type":"continue"}]')).resolves.toEqual([
      '[1,{"no":1,"data":"ok"}]',
    ]);
  });
});
