import { describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import type { Constraint } from '../../../lib/jq/constraints/constraint.js';
import { ConstraintSet } from '../../../lib/jq/constraints/constraint-set.js';
import { readConstraint } from '../../../lib/jq/constraints/read-constraint.js';
import { Raw } from '../../../lib/jq/message-pack/raw.js';
import { Fields } from '../../../lib/jq/wire/fields.js';
import { readRegister } from '../../../lib/jq/wire/requests.js';

interface Counts {
  looks: number;
  parts: number;
}

/** The same bytes, counting how often one of them is looked at and how often a part is taken out, of it or of its parts. */
function counted(bytes: Buffer): { readonly raw: Raw; readonly counts: Counts } {
  const counts: Counts = { looks: 0, parts: 0 };
  return { raw: new Raw(countedBuffer(bytes, counts)), counts };
}

function countedBuffer(bytes: Buffer, counts: Counts): Buffer {
  return new Proxy(bytes, {
    get(target, key) {
      if (key === 'subarray') {
        return (start: number, end: number) => {
          counts.parts += 1;
          const part = target.subarray(start, end);
          const { isMap, isArray } = new Raw(part);
          return isMap || isArray ? countedBuffer(part, counts) : part;
        };
      }
      if (typeof key === 'string' && /^\d/.test(key)) counts.looks += 1;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function setOf(constraints: readonly Constraint[]): ConstraintSet {
  return new ConstraintSet('1', new Map(constraints.map((each, index) => [String(index), each])));
}

const count = (set: ConstraintSet, argument: unknown) => {
  const { raw, counts } = counted(Buffer.from(encode(argument)));
  return { limits: set.limitsOf({ name: 'mail', argument: raw }).limits.length, ...counts };
};

const perTenant = (field: string): Constraint => ({
  match: [{ field, exists: true }],
  per: field,
  concurrency: 1,
});

describe('what a large argument costs', () => {
  const ENTRIES = 2000;
  const wide = Object.fromEntries(Array.from({ length: ENTRIES }, (_, i) => [`k${i}`, i % 100]));
  const argument = { ...wide, tenant: 'x' };

  it('is the same with twenty constraints as with one, and makes nothing of what they do not ask for', () => {
    const one = count(setOf([perTenant('argument.tenant')]), argument);
    const twenty = count(setOf(Array.from({ length: 20 }, () => perTenant('argument.tenant'))), argument);
    expect([one.limits, twenty.limits]).toEqual([1, 20]);
    expect(twenty.looks).toBe(one.looks);
    expect(twenty.parts).toBe(one.parts);
    expect(one.parts).toBeLessThan(10);
  });

  it('is one walk for twenty different fields, too', () => {
    const fields = Array.from({ length: 20 }, (_, i) => perTenant(`argument.k${i}`));
    const { limits, looks } = count(setOf(fields), argument);
    expect(limits).toBe(20);
    expect(looks).toBeLessThan(3 * 2 * ENTRIES);
  });

  it('does not grow with the depth of the path', () => {
    const nested = (depth: number): unknown => (depth === 0 ? argument : { a: nested(depth - 1) });
    const path = (depth: number) => `argument${'.a'.repeat(depth)}.tenant`;
    const flat = count(setOf([perTenant(path(0))]), nested(0));
    const deep = count(setOf([perTenant(path(60))]), nested(60));
    expect([flat.limits, deep.limits]).toEqual([1, 1]);
    expect(deep.looks - flat.looks).toBeLessThan(1000);
  });

  it('is nothing where no constraint asks for the argument of such a job', () => {
    const others = setOf([
      {
        match: [
          { field: 'name', equal: 'sms' },
          { field: 'argument.a', equal: 1 },
        ],
        concurrency: 1,
      },
    ]);
    expect(count(others, argument)).toMatchObject({ looks: 0, parts: 0 });
  });
});

describe('what a large body costs', () => {
  const many = (name: string) => ({ [name]: Array.from({ length: 5000 }, () => 'a') });

  it.each([
    ['names', 'at most 1000 names', readRegister, { name: 'w', max_jobs: 1, ...many('names') }],
    ['match', 'at most 20 conditions', readConstraint, { concurrency: 1, ...many('match') }],
  ])('is its head, for a list of too many %s', (field, expected, read, body) => {
    const { raw, counts } = counted(Buffer.from(encode(body)));
    const fields = Fields.of(raw);
    const before = counts.parts;
    expect(() => read(fields)).toThrow(expect.objectContaining({ field, expected }));
    expect(counts.parts - before).toBeLessThan(20);
  });

  it('is one walk for unknown fields, which are not decoded', () => {
    const unknown = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`x${i}`, 1]));
    const { raw, counts } = counted(Buffer.from(encode({ ...unknown, name: 'w', max_jobs: 1 })));
    expect(readRegister(Fields.of(raw))).toEqual({ name: 'w', maxJobs: 1 });
    expect(counts.parts).toBeLessThan(10);
    expect(counts.looks).toBeLessThan(3 * 2 * 5000);
  });
});
