/** @isolated The lines of an app would name the decorated classes of suites before it. */
import { describe, expect, it } from '@jest/globals';
import { Injectable, Module, type LoggerService, type Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GearMonkeyModule, OnFinish, Worker } from 'nestjs-gearmonkey';

/** What an app with these providers warns of at its start. */
async function warnings(providers: readonly Provider[], imports?: object[]): Promise<string[]> {
  const said: string[] = [];
  const logger: LoggerService = {
    log: () => undefined,
    warn: (line: unknown) => said.push(String(line)),
    error: (line: unknown) => said.push(String(line)),
  };
  @Module({
    imports: (imports as never[]) ?? [GearMonkeyModule.forRoot({ connection: 'memory:' })],
    providers: [...providers],
  })
  class App {}
  const app = await NestFactory.createApplicationContext(App, { logger, abortOnError: false });
  await app.close();
  return said;
}

/** Each test decorates classes of its own: those of an earlier one have been in an app. */
function decoratedClass(fn: string) {
  @Injectable()
  class Mails {
    @Worker(fn)
    send(): string {
      return 'sent';
    }
  }
  return Mails;
}

// The first, as its warning is for a process without the module.
it('An app without the module is told that decorated methods are not called', async () => {
  const Mails = decoratedClass('mail');
  await expect(warnings([Mails], [])).resolves.toEqual([
    expect.stringMatching(
      /^Decorated methods of Mails are not called, since the app has no GearMonkeyModule\./,
    ),
  ]);
  await expect(warnings([Mails])).resolves.toEqual([]);
});

describe('The start', () => {
  it('warns of a decorated class that is in no module, until one has it', async () => {
    const [Placed, Mails] = [decoratedClass('placed'), decoratedClass('mail')];
    await expect(warnings([Placed])).resolves.toEqual([
      expect.stringMatching(
        /^Decorated methods of Mails are not called: no module of this app has the class\./,
      ),
    ]);
    await expect(warnings([Placed, Mails])).resolves.toEqual([]);
    await expect(warnings([Placed])).resolves.toEqual([]);
  });

  it('warns of a class that observes jobs too', async () => {
    class Audit {
      @OnFinish('mail')
      finished(): void {}
    }
    await expect(warnings([])).resolves.toEqual([expect.stringContaining('methods of Audit are')]);
    await warnings([Audit]);
  });

  it('warns not where no handlers run', async () => {
    const Mails = decoratedClass('mail');
    const idle = [GearMonkeyModule.forRoot({ connection: 'memory:', workers: false })];
    await expect(warnings([], idle)).resolves.toEqual([]);
    await warnings([Mails]);
  });

  it('takes a class as there that another extends, that is a token, or that a factory makes', async () => {
    const [Base, Replaced, Made] = [
      decoratedClass('base'),
      decoratedClass('replaced'),
      decoratedClass('made'),
    ];
    class Derived extends Base {}
    const providers = [
      Derived,
      { provide: Replaced, useValue: {} },
      { provide: 'made', useFactory: () => new Made() },
    ];
    await expect(warnings(providers)).resolves.toEqual([]);
  });

  it('warns of an override without the decorator, not of one with it', async () => {
    const Base = decoratedClass('base');
    class Silent extends Base {
      override send(): string {
        return 'silent';
      }
    }
    class Loud extends Base {
      @Worker('loud')
      override send(): string {
        return 'loud';
      }
    }
    await expect(warnings([Silent, Loud])).resolves.toEqual([
      'Silent.send overrides Mails.send without its @Worker, so it is not called. Write @Worker above it too.',
    ]);
  });
});
