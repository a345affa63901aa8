import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import ts from 'typescript';
import { pack, run, temporaryFolder } from '../support/consumer.js';

const SETUP_TIMEOUT_MS = 240_000;
const NEST = ['common', 'core', 'platform-express', 'testing'].map((name) => `@nestjs/${name}@12`);
const OTHERS = ['reflect-metadata', 'rxjs', 'vitest@4', 'supertest@7'];

const DECORATORS = { experimentalDecorators: true, emitDecoratorMetadata: true };

/** The files of the page. */
function filesOfThePage(): [name: string, code: string][] {
  const page = readFileSync(new URL('../../docs/guides/testing.md', import.meta.url), 'utf8');
  return [...page.matchAll(/^```(?:ts|typescript) file=(\S+)\n(.*?)^```$/gms)].map(
    ([, name = '', code = '']) => [name, code],
  );
}

/** As the page says: the same names come from vitest, and its timers are `vi`. */
function forVitest(code: string): string {
  return code
    .replaceAll("'@jest/globals'", "'vitest'")
    .replace(/jest\.useFakeTimers\(.*$/m, 'vi.useFakeTimers();')
    .replace(/\bjest\b/g, 'vi');
}

function toJavaScript(code: string): string {
  const options = { ...DECORATORS, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  return ts.transpileModule(code, { compilerOptions: options }).outputText;
}

describe('The tests of docs/guides/testing.md, in a project that has installed the package', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await temporaryFolder();
    const files = {
      'package.json': JSON.stringify({ name: 'tests', private: true, type: 'module' }),
      'tsconfig.json': JSON.stringify({ compilerOptions: DECORATORS }),
      'vitest.config.js': "export default { test: { include: ['*.spec.ts', '*.e2e-spec.ts'] } };\n",
    };
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    for (const [name, code] of filesOfThePage()) {
      await writeFile(join(folder, name), forVitest(code));
      if (!name.endsWith('spec.ts'))
        await writeFile(join(folder, name.replace('.ts', '.js')), toJavaScript(code));
    }
    const packages = [await pack(folder), ...NEST, ...OTHERS];
    await run(folder, 'npm', 'install', '--no-audit', '--no-fund', '--prefer-offline', ...packages);
  }, SETUP_TIMEOUT_MS);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('pass with vitest, without any plugin', async () => {
    const said = await run(folder, process.execPath, 'node_modules/vitest/vitest.mjs', 'run', '--no-color');
    expect(said).toMatch(/Test Files +4 passed \(4\)/);
    expect(said).toMatch(/Tests +7 passed \(7\)/);
  });

  it('pass with node:test, which ends because nothing is left open', async () => {
    const said = await run(folder, process.execPath, '--test', 'checkout.test.js');
    expect(said).toMatch(/pass 1\n/);
  });
});
