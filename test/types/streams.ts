import { Injectable } from '@nestjs/common';
import type { Observable } from 'rxjs';
import {
  chunk,
  defineJob,
  Worker,
  type ChunkOf,
  type GearMonkeyClient,
  type JobHandle,
  type StreamEntry,
} from 'nestjs-gearmonkey';
import { same } from './definitions.js';

const answer = defineJob<{ question: string }, string, { token: string }>('answer');
same<ChunkOf<typeof answer>, { token: string }>();
same<ChunkOf<'answer'>, unknown>();

export function read(jobs: GearMonkeyClient, job: JobHandle<typeof answer>): void {
  const [typed, live] = [jobs.output(answer, 1), job.output$];
  same<typeof typed, Observable<{ token: string }>>();
  same<typeof live, Observable<{ token: string }>>();
  const entries = jobs.outputEntries(answer, 1, { after: 3 });
  same<typeof entries, Observable<StreamEntry<{ token: string }>>>();
  const [unknown, named] = [jobs.output('answer', 1), jobs.output<number>('answer', 1)];
  same<typeof unknown, Observable<unknown>>();
  same<typeof named, Observable<number>>();
  const told = jobs.output<string>(defineJob('other'), 1);
  same<typeof told, Observable<string>>();
}

@Injectable()
export class Model {
  @Worker(answer)
  *answer() {
    yield chunk({ token: 'a' });
    return 'a';
  }

  // @ts-expect-error: a chunk of another type
  @Worker(answer)
  *numbers() {
    yield chunk(7);
    return 'a';
  }
}

// @ts-expect-error: JSON does not keep the chunks
defineJob<string, string, Date>('dates');
defineJob<string, string, Date>('dates', { codec: 'msgpack' });
