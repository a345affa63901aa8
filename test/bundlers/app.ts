/** The app that is bundled: a worker and a client on Redis, that says what happens to its jobs. It needs no metadata of types. */
import 'reflect-metadata';
import { Inject, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  GearMonkeyClient,
  GearMonkeyModule,
  UnrecoverableError,
  Worker,
  defineJob,
  type RunningJob,
} from 'nestjs-gearmonkey';
import { QlessClient } from 'nestjs-gearmonkey/qless';

/** The arguments of the program. */
export interface AppOptions {
  readonly url: string;
  /** What its functions begin with. */
  readonly prefix: string;
  readonly lease: number;
}

const { url, prefix, lease } = JSON.parse(process.argv[2] ?? '{}') as AppOptions;
const block = defineJob<number, number>(`${prefix}-block`);
const nap = defineJob<number, number>(`${prefix}-nap`);
const fail = defineJob<null, never>(`${prefix}-fail`);

const say = (event: string, details: object = {}) =>
  process.stdout.write(`${JSON.stringify({ event, ...details })}\n`);

/** Messages for people go to stderr. */
const warn = (message: unknown) => process.stderr.write(`${JSON.stringify(message)}\n`);

@Injectable()
class Handlers {
  constructor(@Inject(GearMonkeyClient) private readonly jobs: GearMonkeyClient) {}

  @Worker(block)
  block(ms: number): number {
    say('blocks');
    const end = performance.now() + ms;
    while (performance.now() < end);
    return process.pid;
  }

  @Worker(nap)
  async nap(ms: number, { attempts }: RunningJob): Promise<number> {
    say('naps', { attempts });
    await sleep(ms);
    return process.pid;
  }

  @Worker(fail)
  async fail(): Promise<never> {
    const failing = await this.jobs.get(fail, '1');
    throw new UnrecoverableError(`${failing?.state} fails`);
  }
}

@Module({
  imports: [GearMonkeyModule.forRoot({ connection: url, lease })],
  providers: [Handlers],
})
class App {}

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(App, {
    logger: { log: () => undefined, warn, error: warn },
  });
  app.enableShutdownHooks();
  const qless = new QlessClient({ connection: url });
  const queue = qless.queue(`${prefix}-${process.pid}`);
  const jid = await queue.put('Mail', { to: 'ada' });
  const [popped] = await queue.pop();
  qless.close();
  say('ready', { qless: popped?.jid === jid });
}
void main();
