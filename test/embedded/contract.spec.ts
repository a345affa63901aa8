import { CAPABILITIES } from '../contract/capabilities.js';
import { clientContract } from '../contract/client-contract.js';
import { jobSourceContract } from '../contract/job-source-contract.js';
import { limitContract } from '../contract/limit-contract.js';
import { leapingMemoryRig } from './embedded-rig.js';

// As in an app. Jest sets a hundred frames, which cost more than all else in tests that make many errors.
Error.stackTraceLimit = 10;

jobSourceContract('memory', leapingMemoryRig, CAPABILITIES.memory);
clientContract('memory', leapingMemoryRig);
limitContract('memory', leapingMemoryRig);
