/** One round of one contender: `round.mjs TASK`, started by rounds.mjs. Sends its figures over IPC. */
import { readTask, report } from './ipc.mjs';

const MIN_JOBS = 20;

const { suite, measurement, contender, addresses, scale } = readTask();
// Ends when its parent is gone.
process.once('disconnect', () => process.exit(1));

const { default: definition } = await import(`../suites/${suite}/suite.mjs`);
const { run } = definition.measurements.find(({ name }) => name === measurement);
const jobs = (full, least = MIN_JOBS) => Math.max(least, Math.round(full * scale));
const figures = await run({ contender, addresses, jobs });
report(figures, () => process.exit());
