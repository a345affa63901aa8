import type { Command } from 'commander';
import { printable } from '../../../job/printable.js';
import { acts } from '../perform.js';

export function addPause(program: Command): void {
  const pause = program.command('pause <fns...>').description('begin no more jobs of these functions');
  acts(pause, async ({ client, out }, fns) => {
    for (const fn of fns) {
      await client.pause(fn ?? '');
      out.show({ fn, paused: true }, printable(`${fn} is paused`));
    }
  });
  const resume = program.command('resume <fns...>').description('end a pause');
  acts(resume, async ({ client, out }, fns) => {
    for (const fn of fns) {
      await client.resume(fn ?? '');
      out.show({ fn, paused: false }, printable(`${fn} is not paused`));
    }
  });
}
