import { defineJob } from 'nestjs-gearmonkey';

/** Its output is the whole answer, its chunks are tokens. */
export const answer = defineJob<{ question: string }, string, string>('answer');
