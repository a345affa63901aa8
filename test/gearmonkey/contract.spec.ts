import { jobSourceContract } from '../contract/job-source-contract.js';
import { redisRig } from './redis-rig.js';

jobSourceContract('gearmonkey', redisRig);
