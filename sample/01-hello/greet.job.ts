import { defineJob } from 'nestjs-gearmonkey';

export interface Person {
  name: string;
}

/** The job's definition, shared by the app that enqueues it and the app that runs it. */
export const greet = defineJob<Person, string>('greet');
