/** A process with idle workers: `idle-program.mjs TASK`, started by idle.mjs. Reports times, CPU and memory over IPC. */
import { setTimeout as delay } from 'node:timers/promises';
import { readTask, report } from '../../harness/ipc.mjs';

const { contender, url, functions, settleMs, measureMs } = readTask();
process.once('disconnect', () => process.exit(1));

const begun = performance.now();
const { start } = await import(`./contenders/${contender}.mjs`);
const imported = performance.now();
const close = await start(
  url,
  Array.from({ length: functions }, (_, index) => `bench${index}`),
);
const ready = performance.now();
// Code that is compiled and a heap that is tidied up once are no cost of an idle process.
await delay(settleMs);
report('settled');
const before = process.cpuUsage();
const since = performance.now();
await delay(measureMs);
const { user, system } = process.cpuUsage(before);
const cpu = (user + system) / (performance.now() - since);
report({ imported: imported - begun, ready: ready - imported, cpu, rss: process.memoryUsage.rss() });
await close();
process.exit();
