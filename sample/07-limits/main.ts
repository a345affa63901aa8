import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { Office } from './office.js';

const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
const office = app.get(Office);
await office.serveTenants();
await office.callTheApi();
await office.refuseTheSecond();
await app.close();
