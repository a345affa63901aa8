import { CAPABILITIES } from '../contract/capabilities.js';
import { clientContract } from '../contract/client-contract.js';
import { jobSourceContract } from '../contract/job-source-contract.js';
import { limitContract } from '../contract/limit-contract.js';
import { embeddedRig } from './embedded-rig.js';

// As in an app. Jest sets a hundred frames, which cost more than all else in tests that make many errors.
Error.stackTraceLimit = 10;

jobSourceContract('memory', embeddedRig, CAPABILITIES.memory);
clientContract('memory', embeddedRig);
limitContract('memory', embeddedRig);
