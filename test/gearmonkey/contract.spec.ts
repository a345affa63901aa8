import { CAPABILITIES } from '../contract/capabilities.js';
import { clientContract } from '../contract/client-contract.js';
import { jobSourceContract } from '../contract/job-source-contract.js';
import { limitContract } from '../contract/limit-contract.js';
import { redisRig } from './redis-rig.js';

jobSourceContract('gearmonkey', redisRig, CAPABILITIES.gearmonkey);
clientContract('gearmonkey', redisRig);
limitContract('gearmonkey', redisRig);
