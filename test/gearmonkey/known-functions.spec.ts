import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { KnownFunctions } from '../../lib/gearmonkey/core/client/known-functions.js';
import { codecOf } from '../../lib/job/codec.js';
import { ChangedByCodecError, NotSerializableError, ValidationError } from '../../lib/job/errors.js';
import { defineJob, type AnyJobDefinition } from '../../lib/job/job-definition.js';
import { EmbeddedStore } from '../embedded/embedded-store.js';

/** JSON, which the types would refuse. */
const json = codecOf('json');
const at = new Date(0);

describe('an input with a schema', () => {
  const encode = async (job: AnyJobDefinition, input: unknown) =>
    new KnownFunctions({ maxPayloadBytes: 100 }, false, []).encode(job, input);

  it.each([
    [
      'what JSON makes of a Date is no Date',
      z.object({ at: z.date() }),
      { at },
      'at: Invalid input: expected date',
    ],
    ['JSON makes null of undefined', z.undefined(), undefined, 'expected undefined'],
    ['JSON makes null of NaN', z.nan(), Number.NaN, 'expected NaN, received null'],
  ])(
    'is refused by the client although only the handler would see that %s',
    async (_, input, value, reason) => {
      const job = defineJob('fn', { input, codec: json });
      const refused = encode(job, value);
      await expect(refused).rejects.toThrow(ChangedByCodecError);
      await expect(refused).rejects.toThrow(reason);
    },
  );

  it('is refused with the codec that changed it and what to do', async () => {
    const job = defineJob('fn', { input: z.object({ at: z.date() }), codec: json });
    await expect(encode(job, { at })).rejects.toMatchObject({
      code: 'CHANGED_BY_CODEC',
      message: expect.stringContaining('The input of "fn" matches its schema, but no longer does after json'),
      issues: [{ path: 'at' }],
    });
  });

  it('is sent unchanged if it still matches the schema after the codec', async () => {
    const kept = defineJob('fn', { input: z.object({ at: z.date() }), codec: 'msgpack' });
    await expect(encode(kept, { at })).resolves.toBeInstanceOf(Uint8Array);
    const coerced = defineJob('fn', { input: z.object({ at: z.coerce.date() }) });
    await expect(encode(coerced, { at })).resolves.toBe('{"at":"1970-01-01T00:00:00.000Z"}');
    const parsed = defineJob('fn', {
      input: z.object({ text: z.string().transform((text) => text.length) }),
    });
    await expect(encode(parsed, { text: 'four' })).resolves.toBe('{"text":"four"}');
  });

  it('is validated once, unless it is refused', async () => {
    let checks = 0;
    const input = z.string().refine(() => (checks += 1) > 0);
    await encode(defineJob('fn', { input }), 'x');
    expect(checks).toBe(1);
  });

  it.each([
    ['does not match, whether it can be written or not', { n: 1n }, ValidationError],
    ['matches and cannot be written', { n: 1, more: 1n }, NotSerializableError],
    ['is too large', { n: 1, more: 'x'.repeat(200) }, /has 217 bytes, more than the limit of 100/],
  ])('that %s is refused as such', async (_, value, error) => {
    const job = defineJob('fn', { input: z.looseObject({ n: z.number() }) });
    await expect(encode(job, value)).rejects.toThrow(error);
  });
});

describe('a restricted client', () => {
  it('shows only its own functions', async () => {
    const client = new GearMonkeyClient(new EmbeddedStore());
    await client.run('secret', 1);
    const mail = defineJob('mail');
    const restricted = client.only([mail]);
    await restricted.run(mail, 1);
    await expect(client.functions()).resolves.toEqual(['mail', 'secret']);
    await expect(restricted.functions()).resolves.toEqual(['mail']);
    expect((await restricted.overview()).map(({ fn }) => fn)).toEqual(['mail']);
    await expect(restricted.get('secret', 1)).rejects.toMatchObject({ code: 'UNKNOWN_FUNCTION' });
  });
});
