import type { Command } from 'commander';
import { lastValueFrom, tap } from 'rxjs';
import type { Job } from '../../../job/job.js';
import { printable } from '../../../job/printable.js';
import { errorText, progressText, statusText } from '../job-text.js';
import { shown, type Output } from '../output.js';
import { acts, FOUND } from '../perform.js';

export function addWatch(program: Command): void {
  const watch = program
    .command('watch <fn> <id>')
    .description('print a job at each change, until it has finished; exit code 2 if it failed');
  acts(watch, async ({ client, out }, [fn = '', id = '']) => {
    const changes = client.watch(fn, id).pipe(tap((job) => out.show(job, line(out, job))));
    const job = await lastValueFrom(changes);
    return job.status === 'error' ? FOUND : undefined;
  });
}

function line(out: Output, job: Job): string {
  const { error, status, output } = job;
  const result = error ? errorText(error) : status === 'success' ? shown(output) : progressText(job.progress);
  return `${printable(job.fn)} ${printable(job.id)} ${statusText(out, job)} ${result}`.trimEnd();
}
