import { describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import { jsonOf, recordsOf, showAs } from '../../lib/job/show-as.js';

class Connection {
  static {
    showAs(Connection, ({ host }) => ({ host }));
  }
  readonly password = 's3cret';
  constructor(readonly host: unknown) {}
}

describe('showAs', () => {
  it('shows the class name and the picked fields in inspect and JSON', () => {
    const connection = new Connection('a');
    expect(inspect(connection, { showHidden: true })).toBe("Connection { host: 'a' }");
    expect(inspect({ deep: { deeper: { connection } } })).toBe(
      '{ deep: { deeper: { connection: [Connection] } } }',
    );
    expect(JSON.stringify({ connection })).toBe('{"connection":{"host":"a"}}');
    expect(Object.keys(connection)).toEqual(['host', 'password']);
  });

  it('applies to subclasses, under the public name', () => {
    class Closing extends Connection {}
    expect(inspect(new Closing('a'))).toBe("Connection { host: 'a' }");
  });

  it('never throws, even for a prototype, a bigint, a cycle or a getter', () => {
    const cycle: Record<string, unknown> = { big: 1n, list: [2n] };
    cycle['self'] = cycle;
    const broken = Object.defineProperty({}, 'field', {
      enumerable: true,
      get: () => {
        throw new Error('broken');
      },
    });
    expect(inspect(Connection.prototype)).toBe('{}');
    expect(JSON.stringify(Connection.prototype)).toBe('{}');
    expect(JSON.stringify(new Connection(cycle))).toBe(
      '{"host":{"big":"1","list":["2"],"self":"[Circular]"}}',
    );
    expect(JSON.stringify(new Connection(broken))).toBe('{"host":"[Unreadable]"}');
    expect(JSON.stringify(new Connection({ toJSON: () => ({ at: 1n }) }))).toBe('{"host":{"at":"1"}}');
    expect(inspect(new Connection(cycle))).toContain('[Circular');
  });
});

describe('recordsOf', () => {
  it('makes records that equal plain objects and can always be shown', () => {
    const record = recordsOf<{ id: string; input: unknown }>('Job')({ id: '1', input: 1n });
    expect(record).toEqual({ id: '1', input: 1n });
    expect({ ...record }).toStrictEqual({ id: '1', input: 1n });
    expect(JSON.stringify([record])).toBe('[{"id":"1","input":"1"}]');
    expect(inspect(record)).toBe("Job { id: '1', input: 1n }");
  });
});

describe('jsonOf', () => {
  it('keeps values that JSON can express', () => {
    const at = new Date(0);
    const value = { at, list: [1, 'a', null, true], twice: [at, at], absent: undefined };
    expect(JSON.stringify(jsonOf(value))).toBe(JSON.stringify(value));
  });
});
