import { randomFlows } from '../model/flow-model.js';
import { memoryRig } from './memory-rig.js';

randomFlows(memoryRig, 300);
