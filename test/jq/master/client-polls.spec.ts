import { expect, it } from '@jest/globals';
import { ClientPolls } from '../../../lib/jq/master/client-polls.js';
import type { MasterSettings } from '../../../lib/jq/master/master-options.js';
import { gate } from '../../support/gate.js';

it('A client may wait again when its last request has ended', async () => {
  const polls = new ClientPolls({ maxPollsPerClient: 1 } as MasterSettings);
  const { passed, open } = gate();
  const first = polls.hold('ada', () => passed);
  await expect(polls.hold('ada', async () => 'second')).rejects.toThrow('requests that wait');
  await expect(polls.hold('bob', async () => 'other')).resolves.toBe('other');
  open();
  await first;
  await expect(polls.hold('ada', async () => 'third')).resolves.toBe('third');
});
