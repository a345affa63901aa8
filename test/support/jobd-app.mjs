/** An app as it was built, in a process of its own, that claims one row and never ends it. */
import { jobd } from '../../dist/jobd/index.js';

const options = JSON.parse(process.argv[2] ?? '{}');
const source = jobd(options);
await source.open(options.targets);
const slots = { of: () => 1, functions: () => options.targets, onFree: () => () => undefined };
const [claim] = await source.claim(slots, AbortSignal.timeout(30_000));
console.log(JSON.stringify({ event: 'ready', id: claim?.id }));
