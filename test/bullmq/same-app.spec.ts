import { afterEach, describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { killProcesses, TestProcess } from '../support/test-process.js';
import { useRedis } from '../support/use-redis.js';
import { APP, moved } from './same-app.js';

const COMPILED = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
};

describe('An app of @nestjs/bullmq', () => {
  const redis = useRedis();
  afterEach(killProcesses);

  async function linesOf(source: string): Promise<string[]> {
    const child = new TestProcess(process.execPath, ['--input-type=module', '-'], {
      env: { ...process.env, REDIS_URL: redis.url },
    });
    child.input(ts.transpileModule(source, { compilerOptions: COMPILED }).outputText);
    const { code, stdout } = await child.ended();
    if (code !== 0) throw child.error('failed');
    return stdout.trim().split('\n');
  }

  it('does the same with only its imports changed: names, attempts, delays, events, logs, schedulers', async () => {
    const [before, after] = [await linesOf(APP), await linesOf(moved(APP))];
    expect(before.length).toBeGreaterThan(20);
    expect(after).toEqual(before);
  });
});
