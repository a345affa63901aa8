import { afterAll, describe, expect, it, jest } from '@jest/globals';
import SuiteEnvironment from './runner/environment.mjs';

const NAME = 'GEARMONKEY_TEST_LEFT';

describe('The process that suites share', () => {
  afterAll(() => void delete process.env[NAME]);

  it('has its environment, console and real timers again behind a suite', async () => {
    const { console: own, setTimeout: wait } = globalThis;
    const path = process.env['PATH'];
    const ends = jest.spyOn(own, 'debug');
    const suite = new SuiteEnvironment({} as never, { docblockPragmas: {} } as never);
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    Object.assign(process.env, { [NAME]: 'yes', PATH: '/nowhere' });
    globalThis.console = { ...own };
    await suite.teardown();
    expect([process.env[NAME], process.env['PATH']]).toEqual([undefined, path]);
    expect(globalThis.console).toBe(own);
    expect(globalThis.setTimeout).toBe(wait);
    expect(own.debug).not.toBe(ends);
  });

  it('has its real timers again also behind a suite that spied on a fake one', async () => {
    const { setTimeout: wait } = globalThis;
    jest.useFakeTimers();
    jest.spyOn(globalThis, 'setTimeout').mockRestore();
    jest.useRealTimers();
    await new SuiteEnvironment({} as never, { docblockPragmas: {} } as never).teardown();
    expect(globalThis.setTimeout).toBe(wait);
  });

  it('runs suites that share their modules in the realm of Node, where its errors are errors', () => {
    expect(new SuiteEnvironment({} as never, { docblockPragmas: {} } as never).global).toBe(globalThis);
    expect(structuredClone(new RangeError('x'))).toBeInstanceOf(RangeError);
  });
});
