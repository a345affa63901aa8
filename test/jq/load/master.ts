import { listenMaster } from '../../../lib/jq/master/listen-master.js';
import type { JqMasterOptions } from '../../../lib/jq/master/master-options.js';

/** A master in a process of its own, with the options that its first argument holds as JSON. */
const { url } = await listenMaster(JSON.parse(process.argv[2] ?? '') as JqMasterOptions);
process.stdout.write(`${url}\n`);
