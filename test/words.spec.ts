import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Names of protocols stay as they are. */
const EXCEPT = [/\bql:nudge\b/g, /nudge:\$/g];

const contributing = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
const unwanted = (/^> (.*)$/m.exec(contributing)?.[1] ?? '').split(', ');

/** The words of a phrase may stand on two lines of a comment. */
const UNWANTED = new RegExp(`\\b(?:${unwanted.join('|').replaceAll(' ', '[\\s*/-]+')})\\b`, 'gi');

const filesIn = (...folders: string[]) =>
  folders
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
        join(folder, path),
      ),
    )
    .filter((path) => /\.(md|ts|mjs|lua|py)$/.test(path) && !/node_modules|^site.dist/.test(path));

const files = ['README.md', ...filesIn('lib', 'docs', 'sample', 'bench', 'scripts', 'site')];

/** Comments, and names of tests with their rows. Other strings of tests are data, which may have any words. */
function proseOf(text: string): string {
  const lines = text.split('\n');
  const isProse = (line: string) =>
    /^\s*(?:\/?\*|#|\/\/|\[')|\s\/\/\s|\b(?:it|describe)(?:\.\w+)?\(|\]\)\('/.test(line);
  return lines.filter(isProse).join('\n');
}

function unwantedIn(text: string): string[] {
  const plain = EXCEPT.reduce((rest, pattern) => rest.replace(pattern, ''), text);
  return plain.match(UNWANTED) ?? [];
}

describe('the words of CONTRIBUTING.md', () => {
  it('are at most 25', () => {
    const [, table = ''] = contributing.split('| Word ');
    const rows = (table.split('\n\n')[0] ?? '').split('\n').filter((line) => /^\| \w/.test(line));
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.length).toBeLessThanOrEqual(25);
  });

  it('that must not be used are found in a text', () => {
    expect(unwanted.length).toBeGreaterThan(10);
    expect(unwantedIn('Whoever calls, shall wait. ql:nudge:7')).toEqual(['Whoever', 'shall']);
    expect(unwantedIn('It waits for\n * ever.')).toEqual(['for\n * ever']);
    expect(unwantedIn('It waits forever.')).toEqual([]);
  });

  it('that must not be used are found in comments and names of tests, but not in their data', () => {
    const text = [
      "it('tells nobody', () => {",
      '  // Somebody else',
      "  ask('nobody', 1); // whoever",
      "  ask('anybody');",
      "  ['a stranger', 1],",
    ];
    expect(unwantedIn(proseOf(text.join('\n')))).toEqual([
      'nobody',
      'Somebody',
      'nobody',
      'whoever',
      'stranger',
    ]);
  });

  it('that must not be used are not in comments and names of tests', () => {
    const found = filesIn('test')
      .filter((path) => path !== join('test', 'words.spec.ts'))
      .flatMap((path) =>
        unwantedIn(proseOf(readFileSync(join(ROOT, path), 'utf8'))).map((word) => `${path}: ${word}`),
      );
    expect(found).toEqual([]);
  });

  it('that must not be used are not in lib, docs, samples, benchmarks, scripts and README', () => {
    const found = files.flatMap((path) =>
      unwantedIn(readFileSync(join(ROOT, path), 'utf8')).map((word) => `${path}: ${word}`),
    );
    expect(found).toEqual([]);
  });

  it('of a reason within a sentence end without a full stop of their own', () => {
    const doubled = filesIn('lib').filter((path) =>
      /\$\{messageOf\([\w.]+\)\}\./.test(readFileSync(join(ROOT, path), 'utf8')),
    );
    expect(doubled).toEqual([]);
  });
});
