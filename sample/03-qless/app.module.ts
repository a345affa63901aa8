import { Module } from '@nestjs/common';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { QlessModule, qless } from 'nestjs-gearmonkey/qless';
import { Desk } from './desk.js';
import { Reports } from './reports.js';

const connection = process.env['REDIS_URL'] || 'redis://127.0.0.1:6379';

@Module({
  imports: [
    // Jobs of bulk are only taken when urgent is empty. With 'round-robin' they would alternate.
    GearMonkeyModule.forRoot({
      name: 'reports',
      source: qless({ connection, queues: ['urgent', 'bulk'], popping: 'ordered' }),
    }),
    QlessModule.forRoot({ connection }),
  ],
  providers: [Desk, Reports],
})
export class AppModule {}
