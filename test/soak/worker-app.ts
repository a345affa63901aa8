import { Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GearMonkeyModule } from '../../lib/index.js';
import { obey } from './soak-process.js';

/** Runs these handlers, on the server of the process's argument, until the parent process closes it. */
export async function runWorkerApp(handlers: Type): Promise<void> {
  @Module({
    imports: [GearMonkeyModule.forRoot({ connection: process.argv[2] as string })],
    providers: [handlers],
  })
  class App {}

  const app = await NestFactory.createApplicationContext(App, { logger: false });
  obey(async () => {
    await app.close();
    return {};
  });
}
