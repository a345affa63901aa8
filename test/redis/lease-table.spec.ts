import { beforeEach, describe, expect, it } from '@jest/globals';
import { LeaseTable, type LeaseSegment } from '../../lib/redis/lease-keeper.js';

const SEGMENT_SIZE = 1024;

describe('LeaseTable', () => {
  let segments: LeaseSegment[];
  let table: LeaseTable;

  beforeEach(() => {
    segments = [];
    table = new LeaseTable((segment) => segments.push(segment));
  });

  /** The leases that the keeper's thread finds. */
  const held = () =>
    segments.flatMap(({ group, id, token, deadline }) =>
      [...token.keys()]
        .filter((row) => token[row] !== 0)
        .map((row) => ({ group: group[row], id: id[row], token: token[row], deadline: deadline[row] })),
    );

  it('has the lease of a claim until it is dropped', () => {
    const row = table.hold(3, '7', 5_000_001);
    expect(held()).toEqual([{ group: 3, id: 7, token: 5_000_001, deadline: Infinity }]);
    table.drop(row as number);
    expect(held()).toEqual([]);
  });

  it('ends a lease at its deadline, and not the next one of its row', () => {
    const row = table.hold(0, '1', 1) as number;
    table.limit(row, 12.5);
    expect(held()).toMatchObject([{ id: 1, deadline: 12.5 }]);
    table.drop(row);
    expect(table.hold(0, '2', 2)).toBe(row);
    expect(held()).toMatchObject([{ id: 2, deadline: Infinity }]);
  });

  it('grows with the leases that are held at a time, and uses rows again', () => {
    const rows = Array.from({ length: SEGMENT_SIZE + 1 }, (_, id) => table.hold(0, `${id}`, 1) as number);
    expect(new Set(rows).size).toBe(SEGMENT_SIZE + 1);
    expect(held().map(({ id }) => id)).toEqual(rows.map((_, id) => id));
    for (let round = 0; round < 3; round++) {
      for (const row of rows) table.drop(row);
      expect(held()).toEqual([]);
      for (const id of rows.keys()) table.hold(0, `${id}`, 1);
    }
    expect(segments).toHaveLength(2);
  });

  it.each(['a', '007', '1e3', '-0', '0.5', '', ' 7', '99999999999999999999'])(
    'takes no id that is not a number as it is written: %p',
    (id) => {
      expect(table.hold(0, id, 1)).toBeUndefined();
      expect(held()).toEqual([]);
    },
  );
});
