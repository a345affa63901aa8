import { defineJob } from 'nestjs-gearmonkey';

/** Its chunks are tokens, its output is the whole answer. */
export const answer = defineJob<{ question: string }, string>('answer');
