import type { Command } from 'commander';
import { setTimeout as pause } from 'node:timers/promises';
import { ConfigurationError, messageOf } from '../../../job/errors.js';
import { printable } from '../../../job/printable.js';
import { withoutSecrets } from '../../../job/secrets.js';
import { OVERVIEW_COLUMNS, overviewRow } from '../overview-table.js';
import { acts, type Context } from '../perform.js';
import { isElsewhere, openQueues, withSystems, type QueueFlags, type QueueReader } from '../queue-reader.js';
import { Screen } from '../screen.js';
import { cutTo, tableLines } from '../table.js';

/** Between two draws. */
const REDRAW_MS = 1_000;

export function addTop(program: Command): void {
  const top = program.command('top').description('a live screen of all functions; q or ctrl-c ends it');
  acts<QueueFlags>(withSystems(top), run, { endless: true, isElsewhere });
}

async function run({ out, signal, ...session }: Context, _: unknown, flags: QueueFlags): Promise<void> {
  if (process.stdout.isTTY !== true || out.json)
    throw new ConfigurationError('`top` needs a terminal. For a script: gearmonkey overview --json.');
  const queues = await openQueues(session, flags);
  const screen = new Screen();
  const quitting = new AbortController();
  const ended = AbortSignal.any([signal, quitting.signal]);
  ended.addEventListener('abort', () => screen.leave());
  const aborted = new Promise<undefined>((resolve) =>
    ended.addEventListener('abort', () => resolve(undefined)),
  );
  process.on('exit', () => screen.leave());
  screen.enter(() => quitting.abort());
  try {
    while (!ended.aborted) {
      const lines = await Promise.race([linesOf(queues), aborted]);
      screen.draw(lines ?? []);
      await pause(REDRAW_MS, undefined, { signal: ended }).catch(() => undefined);
    }
  } finally {
    screen.leave();
    await queues.close();
  }
}

/** During an outage the screen says so, and goes on. */
async function linesOf({ address, overview }: QueueReader): Promise<string[]> {
  const now = new Date();
  const head = `gearmonkey top   ${address}   ${now.toISOString().slice(0, 19)}Z   q ends`;
  try {
    const rows = (await overview()).map((each) => narrowed(overviewRow(each, now.getTime())));
    return [head, '', ...tableLines(OVERVIEW_COLUMNS, rows)];
  } catch (error) {
    return [head, '', withoutSecrets(messageOf(error))];
  }
}

/** A long name must not push the numbers off the screen. */
function narrowed([name = '', ...cells]: string[]): string[] {
  const { columns = 80 } = process.stdout;
  return [cutTo(printable(name), Math.max(12, Math.floor(columns / 3))), ...cells];
}
