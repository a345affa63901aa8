import { defineJob } from 'nestjs-gearmonkey';

export interface Person {
  name: string;
}

/** What the job is, shared by whoever enqueues it and whoever runs it. */
export const greet = defineJob<Person, string>('greet');
