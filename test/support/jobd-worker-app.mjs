/** An app as it was built, in a process of its own, whose handlers note each row's number in a file and end it. */
import { appendFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { JobdSource } from '../../dist/jobd/index.js';

const SLOTS = 2;
const { history, ...options } = JSON.parse(process.argv[2] ?? '{}');
const source = new JobdSource({ ...options, pollInterval: 300 });
let free = SLOTS;
let onFree = () => undefined;
const slots = {
  of: () => free,
  functions: () => (free > 0 ? options.targets : []),
  onFree: (listener) => {
    onFree = listener;
    return () => (onFree = () => undefined);
  },
};

async function run(claim) {
  await appendFile(history, `${claim.id}\n`);
  await sleep(50);
  await source.settle([{ claim, status: 'success', output: 'by a handler' }]);
  free++;
  onFree(claim.fn);
}

await source.open(options.targets);
console.log(JSON.stringify({ event: 'ready' }));
for (;;) {
  const claims = await source.claim(slots, new AbortController().signal);
  free -= claims.length;
  for (const claim of claims) void run(claim);
  while (free === 0) await sleep(5);
}
