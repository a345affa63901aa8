import { jobSourceContract } from '../contract/job-source-contract.js';
import { QLESS_CAPABILITIES, qlessRig } from './source-rig.js';

jobSourceContract('qless', qlessRig, QLESS_CAPABILITIES);
