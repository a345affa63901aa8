import { defineJob } from 'nestjs-gearmonkey';

export interface Person {
  name: string;
}

/** What the job is, shared by the app that enqueues it and the app that runs it. */
export const greet = defineJob<Person, string>('greet');
