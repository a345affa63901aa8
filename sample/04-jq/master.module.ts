import { Module } from '@nestjs/common';
import { JqMasterModule } from 'nestjs-gearmonkey/jq';
import { port, redis } from './addresses.js';

/** Does the same as the program: jq-master --redis URL --port 8080 */
@Module({ imports: [JqMasterModule.forRoot({ connection: redis, port })] })
export class MasterModule {}
