import { expect, it } from '@jest/globals';
import { isGone, isLocal, ownIdentity } from '../../../lib/jobd/launcher/process-identity.js';

it('A process is gone if another one has its id', () => {
  const own = ownIdentity();
  expect([isLocal(own), isGone(own)]).toEqual([true, false]);
  expect(isGone({ ...own, process: `${process.pid}@1` })).toBe(true);
});

it('A process of another machine is not taken for gone', () => {
  const other = { machine: 'another', process: `${process.pid}@1` };
  expect([isLocal(other), isGone(other)]).toEqual([false, false]);
});
