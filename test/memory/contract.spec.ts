import { CAPABILITIES } from '../contract/capabilities.js';
import { clientContract } from '../contract/client-contract.js';
import { jobSourceContract } from '../contract/job-source-contract.js';
import { limitContract } from '../contract/limit-contract.js';
import { memoryRig } from './memory-rig.js';

jobSourceContract('memory', memoryRig, CAPABILITIES.memory);
clientContract('memory', memoryRig);
limitContract('memory', memoryRig);
