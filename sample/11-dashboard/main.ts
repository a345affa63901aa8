import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { GearMonkeyClient } from 'nestjs-gearmonkey';
import { AppModule } from './app.module.js';

const app = await NestFactory.create(AppModule, { logger: ['log', 'warn', 'error'] });
app.enableShutdownHooks();
await app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1');
await app.get(GearMonkeyClient).run('greet', { name: 'Ada' });
console.log(`Open ${await app.getUrl()}/jobs/`);
