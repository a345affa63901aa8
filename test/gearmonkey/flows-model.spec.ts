import { randomFlows } from '../model/flow-model.js';
import { redisRig } from './redis-rig.js';

randomFlows(redisRig, 60);
