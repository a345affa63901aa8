import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { progress, Worker, type ProgressUpdate, type RunningJob } from 'nestjs-gearmonkey';
import { render, type RenderInput, type RenderOutput } from './render.job.js';

const FRAME_MS = 50;

/** Simulates rendering a film: an async generator that yields progress and returns the output. */
@Injectable()
export class Renderer {
  @Worker(render, { concurrency: 10 })
  async *render({ frames }: RenderInput, job: RunningJob): AsyncGenerator<ProgressUpdate, RenderOutput> {
    const started = performance.now();
    for (let frame = 1; frame <= frames; frame++) {
      await delay(FRAME_MS, undefined, { signal: job.signal });
      yield progress(frame, frames);
    }
    return { frames, seconds: (performance.now() - started) / 1000 };
  }
}
