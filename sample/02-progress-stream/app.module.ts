import { Module } from '@nestjs/common';
import { GearMonkeyModule } from 'nestjs-gearmonkey';
import { PageController } from './page.controller.js';
import { RenderController } from './render.controller.js';
import { Renderer } from './renderer.js';

@Module({
  imports: [GearMonkeyModule.forRoot({ connection: process.env['REDIS_URL'] || 'memory:' })],
  controllers: [PageController, RenderController],
  providers: [Renderer],
})
export class AppModule {}
