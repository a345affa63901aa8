import type { Command } from 'commander';
import { NoWorkersError } from '../../../job/errors.js';
import { acts, type Context } from '../perform.js';

export function addWorkers(program: Command): void {
  const workers = program
    .command('workers [fns...]')
    .description(
      'how many workers functions have, of all or of these: all that are counted, and those of this package',
    );
  acts(workers, async (context, fns) => {
    const names = fns.length > 0 ? fns : await context.client.functions();
    const found = await Promise.all(names.map((fn = '') => workersOf(context, fn)));
    const rows = found.map(({ fn, workers: all, ids }) => [fn, String(all), String(ids.length)]);
    context.out.table(found, ['function', 'workers', 'of this package'], rows);
  });
}

async function workersOf({ client, connection, keysOf }: Context, fn: string) {
  const workers = await client.rollCall(fn).catch((error: unknown) => {
    if (error instanceof NoWorkersError) return 0;
    throw error;
  });
  const key = keysOf(fn).workers;
  const ids = await connection.insist((redis) => redis.zrange(key, '0', '-1'));
  return { fn, workers, ids };
}
