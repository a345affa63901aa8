import { Module } from '@nestjs/common';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { Importer } from './importer.js';
import { Table } from './table.js';

/** A short lease, so that the job of a killed worker goes on soon. */
const queue = () => GearMonkeyModule.forRoot({ connection: process.env['REDIS_URL'] ?? '', lease: 2000 });

@Module({ imports: [queue()], providers: [Importer, Table] })
export class WorkerModule {}

@Module({ imports: [queue()], providers: [Table] })
export class ClientModule {}
