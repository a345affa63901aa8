import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { JOB_STATES } from '../lib/job/job-state.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** They read and write the wire, or have the words of another system, such as those of Nest's errors. */
const OF_THE_WIRE =
  /^lib\/(?:gearmonkey\/core\/(?:wire|source)|memory|doctor|jq|jobd|qless)\/|^lib\/gearmonkey\/redis-store\.ts$|^lib\/gearmonkey\/features\/(?:flows\/redis-flows|limits\/(?:limit-checks|source-limits)|views\/(?:failed-jobs|listed-job|redis-views))\.ts$|^lib\/dashboard\/job-(?:reads|view)\.ts$|^lib\/nest\/gearmonkey-exception\.filter\.ts$|^docs\/(?:notes|systems|understand)\/|^docs\/(?:guides\/other-languages|operate\/(?:security|jq-.*))\.md$|^sample\/05-jobd\//;
/** What a worker says of a run is no state of a job. */
const OUTCOME = /^lib\/(?:worker|testing)\/|^lib\/job\/(?:job-source|instrumentation)\.ts$/;

const filesIn = (...folders: string[]) =>
  folders
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
        join(folder, path),
      ),
    )
    .filter((path) => /\.(?:md|tsx?)$/.test(path) && !/node_modules|\.embedded\./.test(path));

/** A job's `status`, or a word of the wire where a state is meant. */
function wireWordsIn(text: string): string[] {
  const status = /\bstatus\b[^\n`]{0,12}['"`](?:idle|busy|success|error)\b|\bjob\??\.status\b(?! [!=])/g;
  const state = /\bstate\b[^\n`]{0,12}['"`](?:idle|busy|success|error)\b/g;
  return [...(text.match(status) ?? []), ...(text.match(state) ?? [])];
}

describe('the words for the states of a job', () => {
  it('are seven', () => {
    expect(JOB_STATES).toEqual([
      ...['waiting', 'scheduled', 'retrying', 'running'],
      ...['succeeded', 'failed', 'cancelled'],
    ]);
  });

  it('are told from those of the wire', () => {
    expect(wireWordsIn("readonly status: 'idle' | 'busy';")).toHaveLength(1);
    expect(wireWordsIn("if (job.status === 'success') { state: 'error' }")).toEqual([
      "status === 'success",
      "state: 'error",
    ]);
    expect(wireWordsIn("if (job.state === 'succeeded') { status: 404 }")).toEqual([]);
  });

  it('are the only ones outside of what reads the wire', () => {
    const paths = ['README.md', ...filesIn('lib', 'dashboard/src', 'docs', 'sample')];
    const found = paths
      .filter((path) => !OF_THE_WIRE.test(path) && !OUTCOME.test(path))
      .flatMap((path) =>
        wireWordsIn(readFileSync(join(ROOT, path), 'utf8')).map((word) => `${path}: ${word}`),
      );
    expect(found).toEqual([]);
  });

  it('are explained, each with the word of the wire', () => {
    const page = readFileSync(join(ROOT, 'docs/understand/states.md'), 'utf8');
    const rows = page.split('\n').flatMap((line) => {
      const [, state, status] = /^\| `(\w+)` +\|.*\| `(\w+)` +\|$/.exec(line) ?? [];
      return state === undefined ? [] : [[state, status]];
    });
    const ends = [['succeeded', 'success'], ...['failed', 'cancelled'].map((state) => [state, 'error'])];
    const waits = ['waiting', 'scheduled', 'retrying'].map((state) => [state, 'idle']);
    expect(rows).toEqual(expect.arrayContaining([...waits, ['running', 'busy'], ...ends]));
  });
});
