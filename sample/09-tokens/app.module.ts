import { Module } from '@nestjs/common';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { AnswersController } from './answers.controller.js';
import { Model } from './model.js';
import { PageController } from './page.controller.js';

@Module({
  imports: [GearMonkeyModule.forRoot({ connection: process.env['REDIS_URL'] || 'memory:' })],
  controllers: [PageController, AnswersController],
  providers: [Model],
})
export class AppModule {}
