import { CAPABILITIES } from '../contract/capabilities.js';
import { clientContract } from '../contract/client-contract.js';
import { jobSourceContract } from '../contract/job-source-contract.js';
import { limitContract } from '../contract/limit-contract.js';
import { clusterRig } from './cluster-rig.js';

jobSourceContract('gearmonkey on a cluster', clusterRig, CAPABILITIES.gearmonkey);
clientContract('gearmonkey on a cluster', clusterRig);
limitContract('gearmonkey on a cluster', clusterRig);
