/** @isolated Replaces a module. */
import { mirrorFacts } from './mirrored-scripts.js';

await mirrorFacts([
  'unique',
  'claim',
  'enqueue',
  'limits',
  'shared-limits',
  'records',
  'pause',
  'update',
  '../state-machine',
]);
