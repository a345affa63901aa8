import type { Command } from 'commander';
import { lastValueFrom, tap } from 'rxjs';
import type { Job } from '../../../job/job.js';
import { printable } from '../../../job/printable.js';
import { errorText, progressText, stateText } from '../job-text.js';
import { shown, type Output } from '../output.js';
import { acts, FOUND } from '../perform.js';

export function addWatch(program: Command): void {
  const watch = program
    .command('watch <fn> <id>')
    .description('print a job at each change, until it has finished; exit code 2 unless it succeeded');
  acts(watch, async ({ client, out }, [fn = '', id = '']) => {
    const changes = client.watch(fn, id).pipe(tap((job) => out.show(job, line(out, job))));
    const job = await lastValueFrom(changes);
    return job.state !== 'succeeded' ? FOUND : undefined;
  });
}

function line(out: Output, job: Job): string {
  const { error, state, output } = job;
  const result = error
    ? errorText(error)
    : state === 'succeeded'
      ? shown(output)
      : progressText(job.progress);
  return `${printable(job.fn)} ${printable(job.id)} ${stateText(out, job)} ${result}`.trimEnd();
}
