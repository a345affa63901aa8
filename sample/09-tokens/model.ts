import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { chunk, Worker, type OutputChunk } from 'nestjs-gearmonkey';
import { answer } from './answer.job.js';

const TOKEN_MS = 30;

/** In place of a language model: it answers token by token. */
@Injectable()
export class Model {
  @Worker(answer, { concurrency: 5 })
  async *answer({ question }: { question: string }): AsyncGenerator<OutputChunk<string>, string> {
    let text = '';
    for (const token of `You asked: ${question} I would not know, but I say so word by word.`.split(
      /(?= )/,
    )) {
      await delay(TOKEN_MS);
      text += token;
      yield chunk(token);
    }
    return text;
  }
}
