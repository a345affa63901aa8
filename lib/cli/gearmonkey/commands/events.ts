import type { Command } from 'commander';
import { lastValueFrom, map, merge, take, tap, type Observable } from 'rxjs';
import type { GearMonkeyClient } from '../../../gearmonkey/client.js';
import type { JobEvent, JobProgress } from '../../../job/job.js';
import { printable } from '../../../job/printable.js';
import { wholeOf } from '../input.js';
import { acts, type Flags } from '../perform.js';

interface EventFlags extends Flags {
  readonly progress?: true;
  readonly count?: string;
}

type Shown = JobEvent | ({ readonly type: 'progress' } & JobProgress);

export function addEvents(program: Command): void {
  const events = program
    .command('events <fns...>')
    .description('print the events of functions as they come, until ctrl-c')
    .option('--progress', 'also progress')
    .option('--count <number>', 'end after so many');
  const print = (shown: Shown) => {
    const progress = shown.type === 'progress' ? ` ${shown.dividend}/${shown.divisor}` : '';
    return printable(`${shown.type} ${shown.fn} ${shown.id}${progress}`);
  };
  acts<EventFlags>(
    events,
    async ({ client, out }, fns, flags) => {
      const most = wholeOf('--count', flags.count) ?? Infinity;
      const all = merge(...fns.map((fn = '') => observed(client, fn, flags)));
      const printed = all.pipe(
        take(most),
        tap((event) => out.show(event, print(event))),
      );
      await lastValueFrom(printed, { defaultValue: undefined });
    },
    { endless: true },
  );
}

function observed(client: GearMonkeyClient, fn: string, { progress }: EventFlags): Observable<Shown> {
  const events = client.events(fn);
  if (!progress) return events;
  return merge(events, client.progress(fn).pipe(map((each) => ({ type: 'progress', ...each }) as const)));
}
