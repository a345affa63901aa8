import { expect, it } from '@jest/globals';
import { SharedTurn, type TurnTaker } from '../../lib/memory/shared-turn.js';

const NOW = 1_800_000_000_000;
const waiting = (): TurnTaker => ({ waitsFor: () => true, letPass: () => undefined });

it('memory: sets a shared limit aside for the function whose last start was the earliest', () => {
  const [one, two, three] = [waiting(), waiting(), waiting()];
  const users = new Set([one, two, three]);
  const turn = new SharedTurn();
  for (const user of [two, three, one]) turn.use(user);
  turn.pass('key', users, NOW);
  expect([one, two, three].map((user) => turn.until(user) > NOW)).toEqual([true, false, true]);
});
