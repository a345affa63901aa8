import { contractRig } from './contract-rig.js';
import { CAPABILITIES } from '../contract/capabilities.js';
import { clientContract } from '../contract/client-contract.js';
import { jobSourceContract } from '../contract/job-source-contract.js';
import { limitContract } from '../contract/limit-contract.js';

jobSourceContract('gearmonkey', contractRig, CAPABILITIES.gearmonkey);
clientContract('gearmonkey', contractRig);
limitContract('gearmonkey', contractRig);
