import {
  Controller,
  DefaultValuePipe,
  Get,
  Logger,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post,
  Query,
  Sse,
  type MessageEvent,
} from '@nestjs/common';
import { GearMonkeyClient, isFinal, type Job } from 'nestjs-gearmonkey';
import { finalize, map, type Observable } from 'rxjs';
import { render, type RenderInput, type RenderOutput } from './render.job.js';

type RenderJob = Job<RenderInput, RenderOutput>;

@Controller('renders')
export class RenderController {
  private readonly log = new Logger('Renders');

  constructor(private readonly jobs: GearMonkeyClient) {}

  /** `POST /renders?frames=60` starts a job and returns the URL of its events. */
  @Post()
  async start(
    @Query('frames', new DefaultValuePipe(60), ParseIntPipe) frames: number,
  ): Promise<{ id: string; events: string }> {
    const { id } = await this.jobs.run(render, { frames });
    return { id, events: `/renders/${id}/events` };
  }

  @Get(':id')
  async get(@Param('id') id: string): Promise<RenderJob> {
    const job = await this.jobs.get(render, id);
    if (!job) throw new NotFoundException(`There is no render ${id}.`);
    return job;
  }

  /**
   * The job now and after every change, until it has finished. Nest subscribes when the browser
   * connects and unsubscribes when it leaves; the job itself goes on.
   */
  @Sse(':id/events')
  async events(@Param('id') id: string): Promise<Observable<MessageEvent>> {
    // A missing job must be a 404 before the stream is open; then it is too late.
    await this.get(id);
    this.log.log(`Someone watches render ${id}`);
    return this.jobs.watch(render, id).pipe(
      map((job) => ({ type: isFinal(job.state) ? 'finished' : 'progress', data: viewOf(job) })),
      finalize(() => this.log.log(`No more subscribers to render ${id} here`)),
    );
  }
}

/** The data that the page shows. */
function viewOf({ id, state, progress, output, error }: RenderJob): object {
  return { id, state, ...progress, output, error: error?.message };
}
