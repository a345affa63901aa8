import { describe, expect, it } from '@jest/globals';
import { encode } from '@msgpack/msgpack';
import { limitOf, matches, type Condition } from '../../../lib/jq/constraints/constraint.js';
import { ConstraintSet, pathsOf } from '../../../lib/jq/constraints/constraint-set.js';
import { LONGEST_GLOBBED, matchesGlob } from '../../../lib/jq/constraints/constraint.js';
import { JobFields, type MatchedJob } from '../../../lib/jq/constraints/job-fields.js';
import { readConstraint } from '../../../lib/jq/constraints/read-constraint.js';
import { scalarOf } from '../../../lib/jq/constraints/scalar.js';
import { pack, type Packable } from '../../../lib/jq/message-pack/pack.js';
import { Raw } from '../../../lib/jq/message-pack/raw.js';
import { Fields } from '../../../lib/jq/wire/fields.js';

const read = (body: Packable) => readConstraint(Fields.of(new Raw(pack(body))));
const jobOf = (name: string, argument: unknown) => ({
  name,
  argument: new Raw(Buffer.from(encode(argument))),
});
const RATE = { count: 1, period: 1 };
const holds = (match: Condition[], job: MatchedJob) =>
  matches(match, new JobFields(job, pathsOf([{ match }])));
const limit = (per: string, job: MatchedJob) => {
  const constraint = { match: [], per, rate: RATE };
  return limitOf('c', constraint, new JobFields(job, pathsOf([constraint])));
};

describe('readConstraint', () => {
  it.each<[string, Packable, string]>([
    ['no limit', { match: [] }, 'rate'],
    ['what it does not know', { concurrency: 1, perr: 'name' }, 'perr'],
    ['a concurrency of 0', { concurrency: 0 }, 'concurrency'],
    ['a rate without a period', { rate: { count: 1 } }, 'rate.period'],
    ['a rate of 0', { rate: { count: 0, period: 1 } }, 'rate.count'],
    ['conditions that are no array', { match: {}, concurrency: 1 }, 'match'],
    ['a condition that is no map', { match: ['name'], concurrency: 1 }, 'match'],
    ['a condition without a test', { match: [{ field: 'name' }], concurrency: 1 }, 'match'],
    ['a misspelt test', { match: [{ field: 'name', equals: 'a' }], concurrency: 1 }, 'equals'],
    ['a field of nowhere', { match: [{ field: 'priority', equal: 1 }], concurrency: 1 }, 'field'],
    ['an empty step of a path', { match: [{ field: 'argument..a', equal: 1 }], concurrency: 1 }, 'field'],
    ['a map to compare with', { match: [{ field: 'name', equal: {} }], concurrency: 1 }, 'equal'],
    ['no values to be among', { match: [{ field: 'name', in: [] }], concurrency: 1 }, 'in'],
    ['a bound that is no number', { match: [{ field: 'argument.a', min: 'x' }], concurrency: 1 }, 'min'],
    ['a glob that is no text', { match: [{ field: 'name', glob: 1 }], concurrency: 1 }, 'glob'],
    ['a per that is no field', { per: 'tenant', concurrency: 1 }, 'per'],
    [
      'too many conditions',
      { match: Array(21).fill({ field: 'name', equal: 'a' }), concurrency: 1 },
      'match',
    ],
  ])('refuses %s', (_, body, field) => {
    expect(() => read(body)).toThrow(expect.objectContaining({ code: 'INVALID_FIELD', field }));
  });

  it('reads all that there is', () => {
    const constraint = {
      match: [
        { field: 'name', glob: 'mail.*' },
        { field: 'argument.n', min: -1.5, max: 2, exists: true },
        { field: 'argument.list.0', in: ['a', 1, null, false] },
      ],
      per: 'argument.tenant',
      rate: { count: 10, period: 60 },
      concurrency: 3,
    };
    expect(read(constraint)).toEqual(constraint);
  });
});

describe('scalarOf', () => {
  it.each([
    ['a timestamp of 3 bytes', 'c703ff000000'],
    ['an unknown extension', 'd42a00'],
    ['bytes', 'c40161'],
    ['text that is no UTF-8', 'a2c328'],
    ['a map', '80'],
    ['an array', '90'],
  ])('finds nothing to compare in %s', (_, hex) => {
    expect(scalarOf(new Raw(Buffer.from(hex, 'hex')))).toBeUndefined();
  });
});

describe('a matcher', () => {
  const argument = {
    tenant: { id: 7, plan: 'free' },
    big: 2n ** 60n,
    list: ['a', { x: null }],
    ok: true,
    f: 1.5,
  };
  const job = { name: 'mail.send', argument: new Raw(Buffer.from(encode(argument, { useBigInt64: true }))) };

  it.each<[boolean, Condition]>([
    [true, { field: 'name', equal: 'mail.send' }],
    [false, { field: 'name', equal: 'mail' }],
    [true, { field: 'name', glob: 'mail.*' }],
    [false, { field: 'name', glob: '*.fetch' }],
    [true, { field: 'argument.tenant.id', equal: 7 }],
    [false, { field: 'argument.tenant.id', equal: '7' }],
    [false, { field: 'argument.tenant', equal: 7 }],
    [true, { field: 'argument.tenant.plan', in: ['paid', 'free'] }],
    [false, { field: 'argument.tenant.plan', in: [] }],
    [true, { field: 'argument.f', min: 1.5, max: 1.5 }],
    [false, { field: 'argument.f', min: 1.6 }],
    [false, { field: 'argument.f', max: 1.4 }],
    [false, { field: 'argument.tenant.plan', min: 0 }],
    [true, { field: 'argument.big', min: 2 ** 59 }],
    [true, { field: 'argument.list.0', equal: 'a' }],
    [true, { field: 'argument.list.1.x', equal: null }],
    [false, { field: 'argument.list.2', exists: true }],
    [true, { field: 'argument.list.1.x', exists: true }],
    [true, { field: 'argument.nothing', exists: false }],
    [false, { field: 'argument.nothing', equal: null }],
    [true, { field: 'argument.tenant', exists: true }],
    [true, { field: 'argument.ok', equal: true }],
  ])('says %s of %j', (expected, condition) => {
    expect(holds([condition], job)).toBe(expected);
  });

  it('wants all of its conditions, and without any selects every job', () => {
    const yes = { field: 'name', exists: true };
    expect(holds([], job)).toBe(true);
    expect(holds([yes, { field: 'argument.ok', equal: false }], job)).toBe(false);
  });

  it('knows integers of any width as the same', () => {
    const wide = { name: 'a', argument: new Raw(Buffer.from('81a16ed30000000000000003', 'hex')) };
    expect(holds([{ field: 'argument.n', equal: 3 }], wide)).toBe(true);
    expect(limit('argument.n', wide)).toBe(limit('argument.n', jobOf('b', { n: 3 })));
  });

  it('matches patterns in a time that no pattern can blow up', () => {
    expect(matchesGlob('a*b?d', 'axxbcd')).toBe(true);
    expect(matchesGlob('', '')).toBe(true);
    expect(matchesGlob('?', '')).toBe(false);
    expect(matchesGlob('*a'.repeat(100), `${'a'.repeat(1000)}b`)).toBe(false);
    expect(matchesGlob('*', 'a'.repeat(LONGEST_GLOBBED))).toBe(true);
    expect(matchesGlob('*', 'a'.repeat(LONGEST_GLOBBED + 1))).toBe(false);
  });
});

describe('ConstraintSet', () => {
  const set = new ConstraintSet(
    '3',
    new Map([
      ['b', { match: [{ field: 'name', equal: 'mail' }], concurrency: 1 }],
      ['a', { match: [], per: 'argument.tenant', rate: RATE }],
      ['c', { match: [{ field: 'name', equal: 'other' }], concurrency: 1 }],
    ]),
  );

  it('names the limits of a job in one order, with those of its value', () => {
    const { version, limits } = set.limitsOf(jobOf('mail', { tenant: 'x' }));
    expect(version).toBe('3');
    expect(limits).toEqual([expect.stringMatching(/^a=[0-9a-f]{20}$/), 'b']);
  });

  it('lets jobs with the same value share a limit, and those without one too', () => {
    const of = (argument: unknown) => set.limitsOf(jobOf('x', argument)).limits[0];
    expect(of({ tenant: 'x' })).toBe(of({ tenant: 'x', more: 1 }));
    expect(of({ tenant: 'x' })).not.toBe(of({ tenant: 'y' }));
    expect(of({ tenant: '1' })).not.toBe(of({ tenant: 1 }));
    expect(of({})).toBe(of({ other: 1 }));
    expect(of({})).not.toBe(of({ tenant: 'none' }));
  });
});
