import { Module } from '@nestjs/common';
import { GearMonkeyCoreModule } from '../nest/gearmonkey.module.js';
import { GearMonkeyHealthIndicator } from './health.indicator.js';

/** Gives the importing module a `GearMonkeyHealthIndicator`. Import it beside `TerminusModule`. */
@Module({
  imports: [GearMonkeyCoreModule],
  providers: [GearMonkeyHealthIndicator],
  exports: [GearMonkeyHealthIndicator],
})
export class GearMonkeyHealthModule {}
