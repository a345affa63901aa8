/** @isolated Replaces a module. */
import { mirrorFacts } from './mirrored-scripts.js';

await mirrorFacts(
  'cancel collect drain expire flows leases limited-drain broken-limits listed-successes mend presence read-job recovery schedules set-limit signal statistics trim views ../limits-model'.split(
    ' ',
  ),
);
