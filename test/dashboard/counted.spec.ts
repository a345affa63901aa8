import { expect, it } from '@jest/globals';
import { CountedBySource } from '../../lib/dashboard/counted.js';

it('The queues of a system are counted once for pages that ask at the same time', async () => {
  let asked = 0;
  const counted = new CountedBySource('default', async () => {
    asked += 1;
    return [];
  });
  await Promise.all([counted.functions(), counted.overviewOf(['mail'])]);
  await counted.functions();
  expect(asked).toBe(1);
});
