import { describe, expect, it } from '@jest/globals';
import { GearMonkeyModule, ConfigurationError, OnFinish, Worker, defineJob } from '../../lib/index.js';
import { GearMonkeyClient } from '../../lib/gearmonkey/client.js';
import { readJobOptions } from '../../lib/gearmonkey/core/wire/job-options.js';
import { checkOptions } from '../../lib/job/known-options.js';
import { bindHandler } from '../../lib/worker/job-handler.js';
import { memoryRig } from '../embedded/embedded-rig.js';
import { useApps } from '../support/use-apps.js';

/** An option that no type allows. */
const bad = <T = object>(options: Record<string, unknown>): T => options as T;

describe('checkOptions', () => {
  const known = new Set(['concurrency', 'retry', 'timeout']);

  it.each([
    [{ cocurrency: 1 }, 'It has no option `cocurrency`. Did you mean `concurrency`?'],
    [{ timeOut: 1 }, 'It has no option `timeOut`. Did you mean `timeout`?'],
    [{ retries: 1 }, 'It has no option `retries`. Did you mean `retry`?'],
    [{ colour: 1 }, 'It has no option `colour`. It takes concurrency, retry, timeout.'],
    [{ retry: 1, toString: 1 }, 'It has no option `toString`'],
    [JSON.parse('{"__proto__": 1}'), 'It has no option `__proto__`'],
  ])('suggests the option that may be meant: %j', (options: object, message) => {
    const checking = () => checkOptions('It', options, known);
    expect(checking).toThrow(ConfigurationError);
    expect(checking).toThrow(message);
  });

  it.each([null, 'high', 5, ['x']])('refuses options that are not an object: %j', (options) => {
    const checking = () => checkOptions('It', options as unknown as object, known);
    expect(checking).toThrow('The options of It are not an object. Write them as { concurrency: … }.');
  });

  it('returns a copy of the options', () => {
    const options = { retry: 1 };
    expect(checkOptions('It', options, known)).toEqual(options);
  });
});

describe('An unknown option', () => {
  const apps = useApps();

  it('is refused by a module, however it is configured', async () => {
    const options = bad<{ connection: string }>({ connection: 'memory:', concurrency: 3 });
    const refusal = 'GearMonkeyModule.forRoot has no option `concurrency`. It takes connection, ';
    await expect(apps.start({ imports: [GearMonkeyModule.forRoot(options)] })).rejects.toThrow(refusal);
    const useFactory = () => options;
    await expect(apps.start({ imports: [GearMonkeyModule.forRootAsync({ useFactory })] })).rejects.toThrow(
      refusal,
    );
  });

  it('is refused by decorators, definitions and retry', () => {
    const at = [{}, 'method', {}] as const;
    expect(() => Worker('fn', bad({ concurency: 1 }))(...at)).toThrow(
      '@Worker has no option `concurency`. Did you mean `concurrency`?',
    );
    expect(() => OnFinish('fn', bad({ instanse: 'x' }))(...at)).toThrow('Did you mean `instance`?');
    expect(() => defineJob('fn', bad<object>({ attempts: 5 }))).toThrow('defineJob has no option `attempts`');
    expect(() => defineJob('fn', { retry: bad({ attempt: 5 }) })).toThrow('Did you mean `attempts`?');
    expect(() => defineJob('fn', bad<object>({ retry: 5 }))).toThrow(
      'The options of retry are not an object',
    );
    expect(() => bindHandler({ name: 'fn' }, { retry: bad({ dealy: 5 }) }, () => 1)).toThrow(
      'Did you mean `delay`?',
    );
  });

  it('is refused by a client before anything is written', async () => {
    const rig = await memoryRig();
    const client: GearMonkeyClient = rig.client();
    const fn = rig.fn();
    await expect(client.run(fn, 1, bad({ wait: 5 }))).rejects.toThrow('run has no option `wait`');
    await expect(client.run(fn, 1, bad({ rollcall: true }))).rejects.toThrow('Did you mean `rollCall`?');
    await expect(client.run(fn, 1, 'high' as never)).rejects.toThrow(ConfigurationError);
    await expect(client.call(fn, 1, bad({ prioritty: 'high' }))).rejects.toThrow('Did you mean `priority`?');
    await expect(client.runMany(fn, [1], bad({ timeout: 1 }))).rejects.toThrow(
      'runMany has no option `timeout`',
    );
    await expect(client.run(fn, 1, { retry: bad({ tries: 1 }) })).rejects.toThrow(
      'retry has no option `tries`',
    );
    for (const send of ['run', 'call', 'runMany'] as const)
      await expect(client[send](fn, [1], null as never)).rejects.toThrow('are not an object');
    await expect(client.get(fn, 1)).resolves.toBeNull();
  });

  it('is refused if a misspelled limit would have no effect', async () => {
    const limits = { jobLimits: bad({ attemps: 1 }) };
    expect(() => bindHandler({ name: 'fn' }, limits, () => 1)).toThrow('Did you mean `attempts`?');
    expect(() => bindHandler({ name: 'fn' }, { jobLimits: null as never }, () => 1)).toThrow(
      'are not an object',
    );
    const module = GearMonkeyModule.forRoot({ connection: 'memory:', ...limits });
    await expect(apps.start({ imports: [module] })).rejects.toThrow('jobLimits has no option `attemps`');
    const rig = await memoryRig();
    const client: GearMonkeyClient = rig.client();
    const fn = rig.fn();
    const job = await client.run(fn, 1);
    await expect(job.result(bad({ timeOut: 1 }))).rejects.toThrow('Did you mean `timeout`?');
    await expect(job.result(5 as never)).rejects.toThrow('The options of result are not an object');
    await expect(client.result(fn, job.id, bad({ timeOut: 1 }))).rejects.toThrow('Did you mean `timeout`?');
  });

  it('is ignored in a stored job, since a later version may know it', () => {
    const json = JSON.stringify({ retry: { attempts: 3, later: 1 }, timeout: 5 });
    expect(readJobOptions(json)).toMatchObject({ retry: { attempts: 3 }, timeout: 5 });
  });
});
