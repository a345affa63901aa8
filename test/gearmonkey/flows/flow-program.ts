/** A program of its own: makes a flow of two functions when it is told to, and says when that was made. */
import { RedisActors } from '../redis-rig.js';

export interface FlowProgramOptions {
  readonly url: string;
  readonly functions: readonly [string, string];
  /** How many children the first job has, before the last one. */
  readonly children: number;
}

const { url, functions, children } = JSON.parse(process.argv[2] as string) as FlowProgramOptions;
const [fn, other] = functions;
const client = new RedisActors(url).client();
process.stdout.write('{"event":"ready"}\n');
process.stdin.once('data', () => {
  const last = { job: fn, input: 'last' };
  const middle = Array.from({ length: children }, () => ({ job: other, input: 'child', children: [last] }));
  void client
    .flow({ job: fn, input: 'first', children: middle })
    .then(() => process.stdout.write('{"event":"made"}\n'));
});
