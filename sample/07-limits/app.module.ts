import { Module } from '@nestjs/common';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { Handlers } from './handlers.js';
import { Office } from './office.js';

@Module({
  imports: [GearMonkeyModule.forRoot({ connection: process.env['REDIS_URL'] || 'memory:' })],
  providers: [Handlers, Office],
})
export class AppModule {}
