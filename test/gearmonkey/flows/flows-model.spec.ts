import { contractRig } from '../contract-rig.js';
import { randomFlows } from '../../model/flow-model.js';

randomFlows(contractRig, 60);
