import { Module } from '@nestjs/common';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { Orders } from './orders.js';
import { RunReport } from './run-report.middleware.js';
import { tenantMiddleware } from './tenant.middleware.js';

@Module({ providers: [RunReport], exports: [RunReport] })
class ReportModule {}

@Module({
  imports: [
    ReportModule,
    GearMonkeyModule.forRootAsync({
      imports: [ReportModule],
      inject: [RunReport],
      useFactory: (report: RunReport) => ({
        connection: process.env['REDIS_URL'] || 'memory:',
        middleware: [tenantMiddleware, report],
      }),
    }),
  ],
  providers: [Orders],
})
export class AppModule {}
