import type { Command } from 'commander';
import { printable } from '../../../job/printable.js';
import { inputOf } from '../input.js';
import { acts, FOUND } from '../perform.js';

export function addSignal(program: Command): void {
  const signal = program
    .command('signal <fn> <id> <name> [data]')
    .description(
      'give a job the signal that it waits for; exit code 2 if it had one of that name, or has finished',
    );
  acts(signal, async ({ client, out }, [fn = '', id = '', name = '', data], { codec }) => {
    const signalled = await client.signal(fn, id, name, await inputOf(data, codec));
    const what = signalled ? `has the signal ${name}` : `had the signal ${name} before, or has finished`;
    out.show({ fn, id, name, signalled }, printable(`${fn} ${id} ${what}`));
    return signalled ? undefined : FOUND;
  });
}
