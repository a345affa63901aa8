import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { GearMonkeyClient } from 'nestjs-gearmonkey';
import { AppModule } from './app.module.js';
import { ship } from './orders.js';
import { RunReport } from './run-report.middleware.js';
import { tenants } from './tenant.middleware.js';

const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
const jobs = app.get(GearMonkeyClient);

const say = (error: Error) => error.message;
const order = (tenant: string, number: number) =>
  tenants.run(tenant, () => jobs.call(ship, { order: number }).catch(say));

console.log(await order('acme', 7));
console.log(await order('globex', 8));
console.log(await order('acme', 0));
console.log(await jobs.call(ship, { order: 9 }).catch(say));
for (const line of app.get(RunReport).lines()) console.log(line);
await app.close();
