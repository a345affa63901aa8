import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { InvalidFunctionNameError, InvalidOptionError, ValidationError } from '../../lib/job/errors.js';
import { defineJob, functionName } from '../../lib/job/job-definition.js';
import { validate } from '../../lib/job/standard-schema.js';

describe('defineJob', () => {
  it('refuses an invalid name', () => {
    expect(() => defineJob('a b')).toThrow(InvalidFunctionNameError);
  });

  it('refuses an unknown codec', () => {
    expect(() => defineJob('fn', { codec: 'xml' as 'json' })).toThrow(InvalidOptionError);
  });

  it('has only a name unless more is given', () => {
    expect(defineJob('fn')).toEqual({ name: 'fn' });
  });

  it('has codec and schemas', () => {
    const [input, output] = [z.string(), z.number()];
    const job = defineJob('fn', { codec: 'text', input, output });
    expect(job).toMatchObject({ name: 'fn', codec: { name: 'text' } });
    expect([job.input, job.output]).toEqual([input, output]);
  });

  it('is frozen', () => {
    expect(Object.isFrozen(defineJob('fn'))).toBe(true);
  });
});

describe('functionName', () => {
  it('returns the name of a definition, or the name itself', () => {
    expect([functionName(defineJob('fn')), functionName('fn')]).toEqual(['fn', 'fn']);
  });

  it('refuses an invalid name', () => {
    expect(() => functionName('')).toThrow(InvalidFunctionNameError);
  });
});

describe('validate', () => {
  const schema = z.object({ to: z.email(), tags: z.array(z.object({ n: z.number() })).default([]) });

  it('rejects with every issue and its path', async () => {
    const validating = validate(schema, 'mail', 'input', { to: 'nobody', tags: [{ n: 'x' }] });
    await expect(validating).rejects.toThrow(ValidationError);
    await expect(validating).rejects.toThrow(
      /^The input of "mail" doesn't match its schema: to: .+; tags\.0\.n: /,
    );
    await expect(validating).rejects.toMatchObject({
      issues: [{ path: 'to' }, { path: 'tags.0.n' }],
    });
  });

  it('has no path for an issue of the whole value', async () => {
    await expect(validate(schema, 'mail', 'output', 7)).rejects.toMatchObject({ issues: [{ path: '' }] });
  });

  it('returns the schema’s result', async () => {
    await expect(validate(schema, 'mail', 'input', { to: 'a@b.de', more: 1 })).resolves.toEqual({
      to: 'a@b.de',
      tags: [],
    });
  });

  it('awaits an asynchronous schema', async () => {
    const slow = z.string().refine(async (text) => text !== 'no');
    await expect(validate(slow, 'fn', 'input', 'no')).rejects.toThrow(ValidationError);
    await expect(validate(slow, 'fn', 'input', 'yes')).resolves.toBe('yes');
  });

  it('accepts every value without a schema', async () => {
    await expect(validate(undefined, 'fn', 'input', 7)).resolves.toBe(7);
  });
});
