import 'reflect-metadata';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { Visitor } from './visitor.js';

const folder = mkdtempSync(join(tmpdir(), 'sample-jobd-'));
const database = process.env['DATABASE_URL'] || `sqlite:${join(folder, 'jobs.db')}`;
const app = await NestFactory.createApplicationContext(AppModule.on(database), {
  logger: false,
  abortOnError: false,
});
const visitor = app.get(Visitor);
await visitor.visit('greet');
await visitor.visit('shell');
await visitor.runByHand();
await app.close();
rmSync(folder, { recursive: true });
