import { defineJob } from 'nestjs-gearmonkey';

export interface RenderInput {
  frames: number;
}

export interface RenderOutput {
  frames: number;
  seconds: number;
}

/** A job that takes long enough to show progress. */
export const render = defineJob<RenderInput, RenderOutput>('render');
