import { describe, expect, it } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { typeErrors } from './support/type-check.js';

const files = readdirSync(new URL('types', import.meta.url)).map((name) => `test/types/${name}`);

describe('the types of a definition', () => {
  it('apply from client to handler', () => {
    expect(files).toEqual(expect.arrayContaining(['test/types/client.ts', 'test/types/handlers.ts']));
    expect(typeErrors(files)).toEqual([]);
  });

  it('are really checked: a needless or missing @ts-expect-error is an error', () => {
    const needless =
      "import './definitions.js';\n// @ts-expect-error nothing is wrong\nexport const one = 1;\n";
    const missing =
      "import { resize, same } from './definitions.js';\nimport type { OutputOf } from 'nestjs-gearmonkey';\nsame<OutputOf<typeof resize>, number>();\n";
    expect(typeErrors([], { 'test/types/needless.ts': needless, 'test/types/missing.ts': missing })).toEqual([
      "test/types/needless.ts:2 Unused '@ts-expect-error' directive.",
      'test/types/missing.ts:3 Expected 1 arguments, but got 0.',
    ]);
  });
});
