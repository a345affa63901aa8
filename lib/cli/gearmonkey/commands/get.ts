import type { Command } from 'commander';
import { jobLines } from '../job-text.js';
import { acts } from '../perform.js';

export function addGet(program: Command): void {
  const get = program.command('get <fn> <id>').description('print a job');
  acts(get, async ({ client, out }, [fn = '', id = '']) => {
    const job = await client.getOrThrow(fn, id);
    out.show(job, jobLines(out, job));
  });
}
