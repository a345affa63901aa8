import { expect, it } from '@jest/globals';
import { MemorySchedules } from '../../lib/memory/memory-schedules.js';
import { MemoryServer } from '../../lib/memory/memory-server.js';

const NOW = 1_800_000_000_000;
const slotAt = (time: number) => ({ time, label: String(time) });

it('memory: creates the job of a tick once, although two workers create it', async () => {
  const server = new MemoryServer();
  const schedules = new MemorySchedules(server, { now: () => NOW });
  const [due, next] = [slotAt(NOW), slotAt(NOW + 60_000)];
  await schedules.write('fn', 'id', { version: '', slot: '' }, { spec: '{}', version: '1', next: due });
  const tick = {
    id: 'id',
    version: '1',
    slot: due.label,
    next,
    limit: undefined,
    skipsIfRunning: false,
    unique: undefined,
    input: '{}',
    jobs: [{ slot: NOW, due: NOW, options: '' }],
  };
  const made = [await schedules.tick('fn', [tick]), await schedules.tick('fn', [tick])];
  expect(made.map(({ jobs }) => jobs.length)).toEqual([1, 0]);
  expect(server.function('fn').lastId).toBe(1);
});
