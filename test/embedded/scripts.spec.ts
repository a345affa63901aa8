/** @isolated Replaces a module. */
import { mirrorFacts } from './mirrored-scripts.js';

await mirrorFacts([
  'unique/unique-script',
  'scripts/claim',
  'scripts/enqueue',
  'limits/limit-scripts',
  'limits/shared-limits',
  'steps/record-script',
  'scripts/pause',
  'edits/update-script',
  'state-machine',
]);
