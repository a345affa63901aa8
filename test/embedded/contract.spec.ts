import { CAPABILITIES } from '../contract/capabilities.js';
import { clientContract } from '../contract/client-contract.js';
import { jobSourceContract } from '../contract/job-source-contract.js';
import { limitContract } from '../contract/limit-contract.js';
import { leapingMemoryRig } from './embedded-rig.js';

jobSourceContract('memory', leapingMemoryRig, CAPABILITIES.memory);
clientContract('memory', leapingMemoryRig);
limitContract('memory', leapingMemoryRig);
