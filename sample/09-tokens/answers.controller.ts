import { Controller, NotFoundException, Param, Post, Query, Sse, type MessageEvent } from '@nestjs/common';
import { GearMonkeyClient } from 'nestjs-gearmonkey';
import { concat, map, of, type Observable } from 'rxjs';
import { answer } from './answer.job.js';

@Controller('answers')
export class AnswersController {
  constructor(private readonly jobs: GearMonkeyClient) {}

  /** `POST /answers?question=Why` starts a job and returns the URL of its tokens. */
  @Post()
  async ask(@Query('question') question = ''): Promise<{ id: string; tokens: string }> {
    const { id } = await this.jobs.run(answer, { question: question.slice(0, 1000) });
    return { id, tokens: `/answers/${id}/tokens` };
  }

  /** All tokens from the first on, and then live: a browser that comes late or comes back misses none. */
  @Sse(':id/tokens')
  async tokens(@Param('id') id: string): Promise<Observable<MessageEvent>> {
    // A missing job must be a 404 before the stream is open; then it is too late.
    if (!(await this.jobs.get(answer, id))) throw new NotFoundException(`There is no answer ${id}.`);
    const tokens = this.jobs.output<string>(answer, id).pipe(map((data) => ({ type: 'token', data })));
    return concat(tokens, of({ type: 'end', data: '' }));
  }
}
