import { randomFlows } from '../model/flow-model.js';
import { memoryRig } from './embedded-rig.js';

randomFlows(memoryRig, 300);
