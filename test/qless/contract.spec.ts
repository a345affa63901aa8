import { CAPABILITIES } from '../contract/capabilities.js';
import { jobSourceContract } from '../contract/job-source-contract.js';
import { qlessRig } from './source-rig.js';

jobSourceContract('qless', qlessRig, CAPABILITIES.qless);
