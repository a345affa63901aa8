/** A worker process, on the server of its argument, whose jobs never end. */
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GearMonkeyModule, Worker } from '../../lib/index.js';
import { obey } from '../soak/soak-process.js';

@Injectable()
class Handlers {
  @Worker('work')
  hold() {
    return new Promise<never>(() => undefined);
  }
}

@Module({
  imports: [GearMonkeyModule.forRoot({ connection: process.argv[2] as string })],
  providers: [Handlers],
})
class App {}

const app = await NestFactory.createApplicationContext(App, { logger: false });
obey(async () => {
  await app.close();
  return {};
});
