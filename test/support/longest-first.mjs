import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import TestSequencer from '@jest/test-sequencer';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const durations = JSON.parse(readFileSync(new URL('../durations.json', import.meta.url), 'utf8'));

/**
 * Suites that took longest, first: of those that begin last, the cores would wait for one. New suites begin first too.
 * `RECORD_DURATIONS=1 npm run test:full` measures them.
 */
export default class LongestFirst extends TestSequencer {
  sort(tests) {
    const seconds = ({ path }) => durations[relative(ROOT, path)] ?? Number.MAX_SAFE_INTEGER;
    return [...tests].sort((a, b) => seconds(b) - seconds(a));
  }
}
