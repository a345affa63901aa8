/** @isolated Its scripts are changed before they are defined. */
import { contractRig } from './contract-rig.js';
import { CAPABILITIES } from '../contract/capabilities.js';
import { clientContract } from '../contract/client-contract.js';
import { jobSourceContract } from '../contract/job-source-contract.js';
import { limitContract } from '../contract/limit-contract.js';

// As in an app. Jest sets a hundred frames, which cost more than all else in tests that make many errors.
Error.stackTraceLimit = 10;

jobSourceContract('gearmonkey', contractRig, CAPABILITIES.gearmonkey);
clientContract('gearmonkey', contractRig);
limitContract('gearmonkey', contractRig);
