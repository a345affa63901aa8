import { Module } from '@nestjs/common';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { Handlers } from './handlers.js';
import { Reports } from './reports.js';

@Module({
  imports: [GearMonkeyModule.forRoot({ connection: process.env['REDIS_URL'] || 'memory:' })],
  providers: [Handlers, Reports],
})
export class AppModule {}
