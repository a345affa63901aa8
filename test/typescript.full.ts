import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram, TYPESCRIPT } from './support/test-process.js';

describe('A program that Node runs from its TypeScript', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gearmonkey-typescript-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const write = (name: string, code: string) => writeFile(join(folder, name), code);
  const run = async () =>
    (await runProgram(process.execPath, [...TYPESCRIPT, join(folder, 'main.ts')])).stdout;

  it('imports other sources by the names of their JavaScript, and is compiled again when one changes', async () => {
    await write('main.ts', "import { text } from './text.js';\nconsole.log(text satisfies string);\n");
    await write('text.ts', "export const text: string = 'before';\n");
    await expect(run()).resolves.toBe('before\n');
    await expect(run()).resolves.toBe('before\n');
    await write('text.ts', "export const text: string = 'after';\n");
    await expect(run()).resolves.toBe('after\n');
  });

  it('imports JavaScript that has no source', async () => {
    await write('main.ts', "import { text } from './plain.js';\nconsole.log(text as string);\n");
    await write('plain.js', "exports.text = 'plain';\n");
    await expect(run()).resolves.toBe('plain\n');
  });

  it('names lines of the source in its errors, whether it was compiled now or before', async () => {
    await write(
      'main.ts',
      "interface A {\n  a: string;\n}\n\nthrow new Error(String({ a: 'x' } satisfies A));\n",
    );
    await expect(run()).rejects.toThrow(/main\.ts:5:7/);
    await expect(run()).rejects.toThrow(/main\.ts:5:7/);
  });

  it('has the types of parameters as metadata of decorators', async () => {
    const reflect = new URL('../node_modules/reflect-metadata/Reflect.js', import.meta.url).href;
    await write(
      'main.ts',
      `import '${reflect}';
      const mark = (..._: unknown[]): void => undefined;
      class A {
        @mark
        run(_: Date): void {}
      }
      console.log(Reflect.getMetadata('design:paramtypes', A.prototype, 'run')[0] === Date);`,
    );
    await expect(run()).resolves.toBe('true\n');
  });
});
