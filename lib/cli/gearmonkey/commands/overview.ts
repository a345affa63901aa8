import type { Command } from 'commander';
import { OVERVIEW_COLUMNS, overviewRow } from '../overview-table.js';
import { acts } from '../perform.js';

export function addOverview(program: Command): void {
  const overview = program
    .command('overview')
    .description('all functions: how many jobs they have in each state, and how many workers');
  acts(overview, async ({ client, out }) => {
    const found = await client.overview();
    const now = Date.now();
    const rows = found.map((each) => overviewRow(each, now));
    out.table(found, OVERVIEW_COLUMNS, rows);
  });
}
