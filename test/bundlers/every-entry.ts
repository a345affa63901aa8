/** An app that imports every entry point, where no optional package is installed. Says what it is told of those it needs. */
import 'reflect-metadata';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { BullModule } from 'nestjs-gearmonkey/bullmq';
import { initDatabase, jobd } from 'nestjs-gearmonkey/jobd';
import { JqClient, jq } from 'nestjs-gearmonkey/jq';
import { QlessClient, qless } from 'nestjs-gearmonkey/qless';

const ENTRIES = [GearMonkeyModule, BullModule, jobd, JqClient, jq, QlessClient, qless];

const ignore = () => undefined;

async function codeOf(attempt: Promise<unknown>): Promise<unknown> {
  return attempt.then(
    () => undefined,
    (error: { code?: unknown }) => error.code,
  );
}

async function main(): Promise<void> {
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  const table = initDatabase({ dialect: 'postgres', host: '127.0.0.1', database: 'none' }, 'jobs', log);
  console.log(ENTRIES.length, await codeOf(table));
}
void main();
