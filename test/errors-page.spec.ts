import { describe, expect, it } from '@jest/globals';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { GearMonkeyError } from 'nestjs-gearmonkey';
import { httpStatusOf } from '../lib/nest/http-status.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const page = readFileSync(join(ROOT, 'docs/errors.md'), 'utf8');

/** Each class with a code of its own, wherever it is, as `Name CODE`. */
function errorClasses(): string[] {
  const files = readdirSync(join(ROOT, 'lib'), { recursive: true })
    .map((path) => join(ROOT, 'lib', String(path)))
    .filter((path) => path.endsWith('.ts'));
  return files.flatMap((file) => {
    const found: string[] = [];
    const visit = (node: ts.Node): void => {
      const code = ts.isClassDeclaration(node) && isError(node) ? codeOf(node) : undefined;
      if (code !== undefined) found.push(`${(node as ts.ClassDeclaration).name?.text} ${code}`);
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ES2022, true));
    return found;
  });
}

function isError({ heritageClauses }: ts.ClassDeclaration): boolean {
  const bases = heritageClauses?.flatMap(({ types }) => types.map((type) => type.expression.getText()));
  return bases?.some((name) => name.endsWith('Error')) === true;
}

/** Undefined for a base class without a code. A code that is not a literal is returned as it is written. */
function codeOf({ members }: ts.ClassDeclaration): string | undefined {
  const code = members.find(
    (member) => ts.isPropertyDeclaration(member) && member.name.getText() === 'code' && member.initializer,
  ) as ts.PropertyDeclaration | undefined;
  return code?.initializer?.getText().replace(/^'(.*)'$/, '$1');
}

/** `| \`Name\` | \`CODE\` | when | HTTP |`, where the last may be missing. */
const rows = [...page.matchAll(/^\| `(\w+)` +\| `(\w+)` +\|([^|]+)\|(?:([^|]+)\|)?$/gm)].map(
  ([, name = '', code = '', when = '', http]) => ({ name, code, when: when.trim(), http: http?.trim() }),
);

class Like extends GearMonkeyError {
  constructor(
    readonly code: string,
    readonly what?: 'input' | 'output',
  ) {
    super('');
  }
}

describe('docs/errors.md', () => {
  it('has every error class of the package, with its code, and none that is not there', () => {
    expect(rows.map(({ name, code }) => `${name} ${code}`).toSorted()).toEqual(errorClasses().toSorted());
    expect(rows.length).toBeGreaterThan(50);
  });

  it('says when each is raised', () => {
    expect(rows.filter(({ when }) => when === '')).toEqual([]);
  });

  it('says the status that the filter answers with', () => {
    const stated = rows.filter(({ http }) => http !== undefined);
    const answered = stated.map(({ name, code, http }) => {
      const input = httpStatusOf(new Like(code, 'input')) ?? 500;
      const output = httpStatusOf(new Like(code, 'output')) ?? 500;
      const isOfBoth = http?.includes('output') === true;
      return { name, http: isOfBoth ? `${input}; of an output ${output}` : String(input) };
    });
    expect(answered).toEqual(stated.map(({ name, http }) => ({ name, http })));
  });
});
