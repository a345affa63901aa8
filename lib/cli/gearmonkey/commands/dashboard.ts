import type { Command } from 'commander';
import { acts } from '../perform.js';
import type { DashboardFlags } from '../serve-dashboard.js';

const AUTH = 'GEARMONKEY_DASHBOARD_AUTH';

export function addDashboard(program: Command): void {
  const dashboard = program
    .command('dashboard')
    .description('serves the dashboard until ctrl-c: on this machine only, unless told otherwise')
    .option('--port <number>', 'the port', '8080')
    .option('--host <address>', 'the address', '127.0.0.1')
    .option('--read-only', 'nothing can be changed')
    .option(
      '--open-to-network',
      `others may connect, with the name and password of $${AUTH} (NAME:PASSWORD)`,
    );
  // Loaded only here: it needs an HTTP server.
  acts<DashboardFlags>(
    dashboard,
    async (...called) => (await import('../serve-dashboard.js')).serve(...called),
    { endless: true },
  );
}
