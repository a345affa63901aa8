/** A process that imports what an app of a contender does: `import-program.mjs TASK`, started by import.mjs. */
import { readTask, report } from '../../harness/ipc.mjs';

const OWN = '../../../dist/index.js';
/** All three in a Nest app, whose packages are a part of each. */
const PACKAGES = {
  gearmonkey: ['@nestjs/common', '@nestjs/core', OWN],
  bullmq: ['@nestjs/common', '@nestjs/core', '@nestjs/bullmq'],
  'bee-queue': ['@nestjs/common', '@nestjs/core', 'bee-queue'],
};

const { contender } = readTask();
const begun = performance.now();
for (const name of PACKAGES[contender]) await import(name);
report(performance.now() - begun, () => process.exit());
