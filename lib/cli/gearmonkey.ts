#!/usr/bin/env node
import { Command, Option } from 'commander';
import { PACKAGE_VERSION } from '../package/package-version.embedded.js';
import { addCancel } from './gearmonkey/commands/cancel.js';
import { addDashboard } from './gearmonkey/commands/dashboard.js';
import { addDoctor } from './gearmonkey/commands/doctor.js';
import { addEvents } from './gearmonkey/commands/events.js';
import { addFailures } from './gearmonkey/commands/failures.js';
import { addGet } from './gearmonkey/commands/get.js';
import { addImport } from './gearmonkey/commands/import.js';
import { addLimits } from './gearmonkey/commands/limits.js';
import { addList } from './gearmonkey/commands/list.js';
import { addMend } from './gearmonkey/commands/mend.js';
import { addOverview } from './gearmonkey/commands/overview.js';
import { addPause } from './gearmonkey/commands/pause.js';
import { addRecur } from './gearmonkey/commands/recur.js';
import { addRun } from './gearmonkey/commands/run.js';
import { addSignal } from './gearmonkey/commands/signal.js';
import { addStats } from './gearmonkey/commands/stats.js';
import { addTop } from './gearmonkey/commands/top.js';
import { addWatch } from './gearmonkey/commands/watch.js';
import { addWorkers } from './gearmonkey/commands/workers.js';
import { toJson } from './gearmonkey/output.js';
import { printable } from '../job/printable.js';

const COMMANDS = [
  ...[addRun, addWatch, addEvents, addGet, addCancel, addSignal],
  ...[addFailures, addMend],
  ...[addWorkers, addLimits, addPause, addRecur],
  addImport,
  ...[addList, addOverview, addStats, addTop, addDoctor, addDashboard],
];

// The reader of a pipe may be gone, as with `| head`.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit());

const program = new Command('gearmonkey')
  .description('Enqueues, shows and changes jobs on a Redis server.')
  .option('--redis <url>', 'the server (default: $REDIS_URL, or redis://127.0.0.1:6379)')
  .option('--hash-tag', 'functions are written with a hash tag, as with `hashTag: true`')
  .addOption(
    new Option('--codec <name>', 'how inputs and outputs are encoded').choices(['json', 'text', 'msgpack']),
  )
  .option('--json', 'print JSON: one value on each line')
  .version(PACKAGE_VERSION, '--version')
  .helpOption('--help');

// What was typed may come from somewhere else.
program.configureOutput({
  outputError: (text, write) => {
    const message = text
      .replace(/^error: /, '')
      .trimEnd()
      .replace('\n(Did you mean', ' (Did you mean');
    if (process.argv.includes('--json')) write(`${toJson({ error: { code: 'USAGE', message } })}\n`);
    else write(`${printable(message)}\n(see gearmonkey --help)\n`);
  },
});

for (const add of COMMANDS) add(program);
await program.parseAsync();
