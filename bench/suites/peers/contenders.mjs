import { ownVersion, versionOf } from '../../harness/packages.mjs';

/** Each does with a finished job what it does by default: it keeps it. Handlers return `true`. */
export const CONTENDERS = [
  {
    key: 'gearmonkey',
    title: 'nestjs-gearmonkey',
    version: ownVersion(),
    options: 'through its Nest module, at its defaults: leases, presence and events on',
  },
  {
    key: 'bullmq',
    title: 'BullMQ',
    version: versionOf('bullmq'),
    options:
      'at its defaults: locks, stalled checks and events on; results by waitUntilFinished with QueueEvents',
  },
  {
    key: 'bee-queue',
    title: 'bee-queue',
    version: versionOf('bee-queue'),
    options:
      'checkStalledJobs every 5 s; its workers send events, producers receive them only where results are awaited',
  },
];

/**
 * A contender's queue, ready. Its packages are loaded now, so that no other's are in the process.
 *
 * @param {{ key: string, url: string, results?: boolean, events?: boolean }} opening `results`: calls will be made;
 *   `events: false`: workers need not tell of what they did, where that can be chosen
 */
export async function openQueue({ key, url, results = false, events = true }) {
  const { open } = await import(`./contenders/${key}.mjs`);
  return open(url, { results, events });
}
