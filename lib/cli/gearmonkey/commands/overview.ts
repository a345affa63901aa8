import type { Command } from 'commander';
import { OVERVIEW_COLUMNS, overviewRow } from '../overview-table.js';
import { acts } from '../perform.js';
import { isElsewhere, openQueues, withSystems, type QueueFlags } from '../queue-reader.js';

export function addOverview(program: Command): void {
  const overview = program
    .command('overview')
    .description('all functions: how many jobs they have in each state, and how many workers');
  acts<QueueFlags>(
    withSystems(overview),
    async ({ out, ...session }, _, flags) => {
      const queues = await openQueues(session, flags);
      try {
        const found = await queues.overview();
        const now = Date.now();
        const rows = found.map((each) => overviewRow(each, now));
        out.table(found, OVERVIEW_COLUMNS, rows);
      } finally {
        await queues.close();
      }
    },
    { isElsewhere },
  );
}
