import type { Command } from 'commander';
import { printable } from '../../../job/printable.js';
import { acts, FOUND } from '../perform.js';

export function addCancel(program: Command): void {
  const cancel = program
    .command('cancel <fn> <ids...>')
    .description('cancel jobs; exit code 2 if one had finished before');
  acts(cancel, async ({ client, out }, [fn = '', ...ids]) => {
    let isLate = false;
    for (const id of ids) {
      const cancelled = await client.cancel(fn, id ?? '');
      isLate ||= !cancelled;
      const what = cancelled ? 'cancelled' : 'had finished before';
      out.show({ fn, id, cancelled }, printable(`${fn} ${id} ${what}`));
    }
    return isLate ? FOUND : undefined;
  });
}
