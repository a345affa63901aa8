import { Module } from '@nestjs/common';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { Greeter } from './greeter.js';
import { Host } from './host.js';

@Module({
  imports: [GearMonkeyModule.forRoot({ connection: process.env['REDIS_URL'] || 'memory:' })],
  providers: [Greeter, Host],
})
export class AppModule {}
