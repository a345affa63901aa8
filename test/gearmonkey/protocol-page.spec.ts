import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LUA } from '../../lib/gearmonkey/core/wire/lua.embedded.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = `${ROOT}/docs/understand/protocol`;
const pages = readdirSync(PAGES).map((file) => readFileSync(`${PAGES}/${file}`, 'utf8'));

/** The head of each script that can be called; other files are parts of these. */
const heads = new Map(
  Object.entries(LUA).flatMap(([name, text]) => {
    const head = /^--\[\[(.*?)\]\]/s.exec(text)?.[1];
    return head === undefined ? [] : [[name, head] as const];
  }),
);

/** The column KEYS of each script's row. */
const rows = new Map(
  [
    ...pages
      .join('\n')
      .matchAll(/^\| `([a-z-]+)` +\| ([^|]*uid:|[^|]*\{FN\}[^|]*|`(?:schedules|functions)[^|]*) \|/gm),
  ].map(([, name = '', keys = '']) => [name, keys.trim()] as const),
);

/** What a row abbreviates. */
const COUNTS: Record<string, number> = {
  'the three of `ended:{FN}:`': 3,
  'as [`enqueue`](creating.md)': 6,
};
const WORDS: Record<string, number> = { two: 2, five: 5, ten: 10, eleven: 11 };

/** How many keys a script takes, by its head; undefined if that is any number. */
function keysOfHead(head: string): number | undefined {
  const word = /KEYS (\w+) per function/.exec(head)?.[1];
  if (word !== undefined) return WORDS[word];
  const indexes = [...head.matchAll(/^ .*/gm)].flatMap(([line]) => [...line.matchAll(/KEYS\[(\d+)\]  ?\w/g)]);
  return indexes.length > 0 ? Math.max(...indexes.map(([, index]) => Number(index))) : undefined;
}

function keysOfRow(row: string): number {
  const listed = row.replace(/^\w+ a function: /, '').split(', ');
  return listed.reduce((sum, part) => sum + (COUNTS[part] ?? 1), 0);
}

describe("The pages of the protocol's scripts", () => {
  it('has found them', () => expect(heads.size).toBeGreaterThan(25));

  it.each([...heads])('has a row for %s, with as many keys as it takes', (name, head) => {
    expect([...rows.keys()]).toContain(name);
    const count = keysOfHead(head);
    if (count !== undefined) expect(keysOfRow(rows.get(name) ?? '')).toBe(count);
  });
});
