import { clientContract } from '../contract/client-contract.js';
import { jobSourceContract } from '../contract/job-source-contract.js';
import { memoryRig } from './memory-rig.js';

jobSourceContract('memory', memoryRig);
clientContract('memory', memoryRig);
