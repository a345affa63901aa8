import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../../../lib/jq/engine/scripts/', import.meta.url));

interface Part {
  readonly name: string;
  readonly needs: Readonly<Record<string, readonly string[]>>;
  readonly gives: readonly string[];
  /** Names that it defines for all parts behind it, and all that it mentions. */
  readonly defined: readonly string[];
  readonly used: ReadonlySet<string>;
}

const read = (name: string) => readFileSync(`${FOLDER}${name}.lua`, 'utf8');
const order = [...read('turn').matchAll(/^-- include (\w+)/gm)].map(([, name = '']) => name);

function partOf(name: string): Part {
  const text = read(name);
  const code = text.replaceAll(/--\[\[.*?\]\]|--[^\n]*|'(?:[^'\\\n]|\\.)*'/gs, ' ');
  const locals = [...code.matchAll(/^local (?:function (\w+)|([\w, ]+?)(?: =|$))/gm)];
  return {
    name,
    needs: Object.fromEntries(
      listOf(text, 'Needs').map((each) => {
        const [from = '', names = ''] = each.split(': ');
        return [from, names.split(', ').sort()];
      }),
    ),
    gives: (listOf(text, 'Gives').find((each) => !each.startsWith('operations ')) ?? '')
      .split(', ')
      .filter(Boolean)
      .sort(),
    defined: locals.flatMap(([, one, several = '']) => one ?? several.split(', ')),
    used: new Set([...code.matchAll(/(?<![.\w:])[A-Za-z_]\w*/g)].map(([word]) => word)),
  };
}

/** `-- Needs a: b, c; d: e`, over as many lines as it takes. */
function listOf(text: string, what: string): string[] {
  const [, first = ''] = new RegExp(`^-- ${what} ((?:.*\\n--   )*.*)$`, 'm').exec(text) ?? [];
  return first === '' ? [] : first.replaceAll('\n--   ', ' ').split('; ');
}

describe('the parts of the script of JQ', () => {
  const parts = order.map(partOf);

  it.each(order)('%s says at its head what it needs of others, and gives to them', (name) => {
    const at = order.indexOf(name);
    const part = partOf(name);
    const needed = parts.slice(0, at).flatMap((from) => {
      const names = from.defined.filter((each) => part.used.has(each) && !part.defined.includes(each));
      return names.length > 0 ? [[from.name, names.sort()]] : [];
    });
    const later = [...parts.slice(at + 1), partOf('turn')];
    const given = part.defined.filter((each) => later.some(({ used }) => used.has(each)));
    expect(part.needs).toEqual(Object.fromEntries(needed));
    expect(part.gives).toEqual(given.sort());
  });
});
