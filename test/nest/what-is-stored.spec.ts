import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { GearMonkeyClient, GearMonkeyModule, Worker, type CommonModuleOptions } from 'nestjs-gearmonkey';
import { useApps } from '../support/use-apps.js';

@Injectable()
class Handlers {
  @Worker('fails')
  fails() {
    throw new Error('no disk', { cause: new Error('redis://app:hunter2@cache is down') });
  }

  @Worker('strict', { jobLimits: { attempts: 1 } })
  strict() {
    throw new Error('never again');
  }
}

describe('GearMonkeyModule', () => {
  const apps = useApps();

  async function clientOf(options: CommonModuleOptions): Promise<GearMonkeyClient> {
    const imports = [GearMonkeyModule.forRoot({ connection: 'memory:', ...options })];
    return (await apps.start({ imports, providers: [Handlers] })).get(GearMonkeyClient);
  }
  const failed = async (client: GearMonkeyClient, fn: string, attempts = 1) => {
    const retry = { attempts, delay: 1 };
    return (await client.run(fn, 'x', { blocking: true, timeout: '20s', retry })).get();
  };

  it('stores stacks of errors of handlers, without credentials of URLs', async () => {
    const { error } = await failed(await clientOf({}), 'fails');
    expect(error).toMatchObject({
      message: 'no disk',
      stack: expect.stringContaining('what-is-stored.spec'),
    });
    expect(error?.cause).toMatchObject({ message: 'redis://***@cache is down' });
    expect(JSON.stringify(error)).not.toContain('hunter2');
  });

  it("stores no stack if `errorDetail` is 'message'", async () => {
    const { error } = await failed(await clientOf({ errorDetail: 'message' }), 'fails');
    const cause = { name: 'Error', message: 'redis://***@cache is down' };
    expect(error).toEqual({ name: 'Error', message: 'no disk', cause });
  });

  it('limits the attempts that a job may ask for by `jobLimits` of module or handler', async () => {
    const client = await clientOf({ jobLimits: { attempts: 2 } });
    await expect(failed(client, 'fails', 5)).resolves.toMatchObject({ attempts: 2 });
    await expect(failed(client, 'fails', 1)).resolves.toMatchObject({ attempts: 1 });
    await expect(failed(client, 'strict', 5)).resolves.toMatchObject({ attempts: 1 });
  });
});
