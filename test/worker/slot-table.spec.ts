import { describe, expect, it } from '@jest/globals';
import { SlotTable } from '../../lib/worker/function-slots.js';

describe('SlotTable', () => {
  it('has the functions with free slots', () => {
    const slots = new SlotTable([
      ['a', 2],
      ['b', 0],
    ]);
    expect([slots.functions(), slots.of('a'), slots.of('b'), slots.isEmpty]).toEqual([['a'], 2, 0, false]);
    slots.set('b', 1);
    slots.set('a', 0);
    expect([slots.functions(), slots.of('a'), slots.isEmpty]).toEqual([['b'], 0, false]);
    slots.set('b', 0);
    expect(slots.isEmpty).toBe(true);
  });

  it('calls its listeners when a function has a free slot that had none', () => {
    const slots = new SlotTable([['a', 1]]);
    const freed: string[] = [];
    const ignore = slots.onFree((fn) => freed.push(fn));
    slots.set('a', 2);
    slots.set('b', 1);
    slots.set('a', 0);
    expect(freed).toEqual(['b']);
    slots.set('a', 1);
    expect(freed).toEqual(['b', 'a']);
    ignore();
    slots.set('c', 1);
    expect(freed).toEqual(['b', 'a']);
  });
});
