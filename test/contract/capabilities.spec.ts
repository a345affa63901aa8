import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { CAPABILITIES } from './capabilities.js';

const PAGE = new URL('../../docs/understand/architecture.md', import.meta.url);

it('docs/understand/architecture.md has the table of capabilities', () => {
  const rows = readFileSync(PAGE, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `') && /\| (yes|no) +\|/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')));
  const sources = Object.values(CAPABILITIES);
  const names = Object.keys(CAPABILITIES.gearmonkey) as (keyof typeof CAPABILITIES.gearmonkey)[];
  expect(rows.map((cells) => [cells[1], ...cells.slice(3, -1)])).toEqual(
    names.map((name) => [name, ...sources.map((each) => (each[name] ? 'yes' : 'no'))]),
  );
});
