/** Runs a number of jobs in a thread, and posts their output. */
import { parentPort, workerData } from 'node:worker_threads';
import { Launcher } from '../../lib/jobd/launcher/launcher.js';

const launcher = new Launcher({ launcher: 'echo job {id}' }, 'thread');
const jobs = Array.from({ length: workerData }, (_, id) => launcher.launch(id).result);
parentPort.postMessage((await Promise.all(jobs)).map(({ stdout }) => stdout));
