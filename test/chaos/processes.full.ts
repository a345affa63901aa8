import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { until } from '../support/until.js';
import { Member } from './processes.js';

it('a process that ended by itself is restarted once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gearmonkey-member-'));
  const member = new Member('worker', 'one', { url: 'nowhere' }, folder, () => ({}));
  member.start();
  await until(() => !member.isRunning);
  await member.end('SIGKILL');
  member.start();
  // It lives longer than a supervisor would have waited.
  await until(() => !member.isRunning);
  expect(member.histories).toHaveLength(2);
  await member.retire('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});
