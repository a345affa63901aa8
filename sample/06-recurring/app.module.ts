import { Module } from '@nestjs/common';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { Reminders } from './reminders.js';
import { Reports } from './reports.js';

@Module({
  imports: [
    GearMonkeyModule.forRoot({
      connection: process.env['REDIS_URL'] || 'memory:',
      app: { name: 'sample-recurring', version: '1.0.0' },
    }),
  ],
  providers: [Reports, Reminders],
})
export class AppModule {}
