import { expect, it } from '@jest/globals';
import type { RegisteredWorker } from '../../../lib/jobd/master/registered-worker.js';
import { sendSignals } from '../../../lib/jobd/master/signals.js';
import type { WorkerRegistry } from '../../../lib/jobd/master/worker-registry.js';

const worker = (name: string, answer: unknown) =>
  ({ name, connection: {}, request: async () => answer }) as unknown as RegisteredWorker;

it.each([
  ['the first', [true, false]],
  ['the second', [false, true]],
] as const)('A signal counts as delivered if %s of two workers has delivered it', async (_, answers) => {
  const workers = answers.map((answer, index) => worker(`w${index}`, { 1: answer }));
  const registry = { serving: () => workers } as unknown as WorkerRegistry;
  const jobs = [{ id: 1, target: 'low', signal: 15 }];
  await expect(sendSignals(registry, jobs)).resolves.toEqual({ 1: true });
});
