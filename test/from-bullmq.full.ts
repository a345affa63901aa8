import { afterEach, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { moved } from './bullmq/same-app.js';
import { killProcesses, TestProcess } from './support/test-process.js';
import { useRedis } from './support/use-redis.js';

const page = readFileSync(new URL('../docs/guides/from-bullmq.md', import.meta.url), 'utf8');

/** One of the two apps, as the page has it, in JavaScript. */
function appOf(mark: string, change = (code: string) => code): string {
  const [, code = ''] = new RegExp(`^\`\`\`ts ${mark}\\n(.*?)^\`\`\`$`, 'ms').exec(page) ?? [];
  expect(code).not.toBe('');
  const compilerOptions: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
  };
  return ts.transpileModule(change(code), { compilerOptions }).outputText;
}

describe('The app that moves from @nestjs/bullmq', () => {
  const redis = useRedis();
  afterEach(killProcesses);

  async function lines(app: string): Promise<string> {
    const child = new TestProcess(process.execPath, ['--input-type=module', '-'], {
      env: { ...process.env, REDIS_URL: redis.url },
    });
    child.input(app);
    const { code, stdout } = await child.ended();
    if (code !== 0) throw child.error('failed');
    return stdout;
  }

  it.each([
    ['before', appOf('before')],
    ['with only its imports changed', appOf('before', moved)],
    ['after', appOf('after')],
  ])('sends its mail in the second attempt: %s', async (_, app) => {
    await expect(lines(app)).resolves.toBe('sent to ada@example.com\n');
  });

  it('shares no key with the other', async () => {
    const keys = await redis.redis.keys('*');
    expect(keys.filter((key) => key.startsWith('bull:')).length).toBeGreaterThan(0);
    expect(keys.filter((key) => key.includes(':mail') && !key.startsWith('bull:')).length).toBeGreaterThan(0);
  });
});
