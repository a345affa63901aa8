/**
 * A producer or worker process: `actor.mjs TASK`, started by processes.mjs. Over IPC it reports that it is ready and gets
 * the signals to start and stop. A worker also reports how many jobs it has handled, and the time of the last one.
 */
import { readTask, report } from '../../harness/ipc.mjs';
import { openQueue } from './contenders.mjs';
import { startHeld } from './held-worker.mjs';
import { payloadOf } from './payload.mjs';
import { enqueueAll, IN_FLIGHT } from './throughput.mjs';

const REPORT_MS = 20;

const { contender, url, bytes, role, count } = readTask();
process.once('disconnect', () => process.exit(1));

const queue = await openQueue({ key: contender, url });
const { go, stop } = await { work, produce }[role]();
process.on('message', async (order) => {
  if (order === 'go') {
    go();
  } else {
    await stop();
    await queue.close();
    process.exit();
  }
});
report('ready');

function produce() {
  let produced;
  return { go: () => (produced = enqueueAll(queue, payloadOf(bytes), count)), stop: () => produced };
}

async function work() {
  let [handled, last, reported] = [0, 0, 0];
  const worker = await startHeld(queue, IN_FLIGHT, () => {
    last = performance.timeOrigin + performance.now();
    handled += 1;
  });
  const timer = setInterval(() => {
    if (handled === reported) return;
    reported = handled;
    report({ handled, last });
  }, REPORT_MS);
  return {
    go: worker.release,
    stop: () => {
      clearInterval(timer);
      return worker.stop();
    },
  };
}
