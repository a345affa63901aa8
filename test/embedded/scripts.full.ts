/** @isolated Replaces a module. */
import { mirrorFacts } from './mirrored-scripts.js';

await mirrorFacts([
  ...['edits/cancel-script', 'edits/drain-script'],
  'flows/flow-scripts',
  'keep/trim-script',
  ...['limits/broken-limits', 'limits/limited-drain', 'limits/limits-model', 'limits/set-limit-script'],
  'schedules/schedule-scripts',
  ...['scripts/collect', 'scripts/expire', 'scripts/leases', 'scripts/presence', 'scripts/recovery'],
  'signals/signal-script',
  'statistics/statistics-scripts',
  ...['views/list-scripts', 'views/listed-successes', 'views/mend-script', 'views/read-job-script'],
]);
