import { Controller, Headers, Param, Post, Query, Sse, UseFilters, type MessageEvent } from '@nestjs/common';
import { GearMonkeyClient, GearMonkeyExceptionFilter, sseOutput } from 'nestjs-gearmonkey';
import type { Observable } from 'rxjs';
import { answer } from './answer.job.js';

@Controller('answers')
@UseFilters(GearMonkeyExceptionFilter)
export class AnswersController {
  constructor(private readonly jobs: GearMonkeyClient) {}

  /** `POST /answers?question=Why` starts a job and returns the URL of its tokens. */
  @Post()
  async ask(@Query('question') question = ''): Promise<{ id: string; tokens: string }> {
    const { id } = await this.jobs.run(answer, { question: question.slice(0, 1000) });
    return { id, tokens: `/answers/${id}/tokens` };
  }

  /** Tokens from the first on, or behind those that a browser has that connects again; and then live. */
  @Sse(':id/tokens')
  tokens(
    @Param('id') id: string,
    @Headers('last-event-id') lastEventId?: string,
  ): Promise<Observable<MessageEvent>> {
    return sseOutput(this.jobs, answer, id, { lastEventId });
  }
}
