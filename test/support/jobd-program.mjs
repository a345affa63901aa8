/** A daemon as it was built, in a process of its own: its options as JSON, `targets` as pairs; `poll` on stdin; SIGTERM drains it. */
import { createInterface } from 'node:readline';
import { JobdDaemon } from '../../dist/jobd/index.js';

const { targets, ...options } = JSON.parse(process.argv[2] ?? '{}');
const say = (event, details = {}) => console.log(JSON.stringify({ event, ...details }));
const log = (level) => (message) => say('log', { level, message });
const daemon = new JobdDaemon({
  ...options,
  targets: new Map(targets),
  log: { debug: () => undefined, info: log('info'), warn: log('warn'), error: log('error') },
});
process.once('SIGTERM', async () => {
  await daemon.stop();
  say('stopped');
  process.exit(0);
});
createInterface(process.stdin).on('line', () => daemon.poll());
await daemon.start();
say('ready');
