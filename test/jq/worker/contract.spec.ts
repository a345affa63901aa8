import { CAPABILITIES } from '../../contract/capabilities.js';
import { jobSourceContract } from '../../contract/job-source-contract.js';
import { jqRig } from './jq-rig.js';

jobSourceContract('jq, pushed', () => jqRig({ port: 0 }), CAPABILITIES.jq);
jobSourceContract('jq, pulled', () => jqRig(), CAPABILITIES.jq);
