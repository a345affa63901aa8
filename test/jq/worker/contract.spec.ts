import { jobSourceContract } from '../../contract/job-source-contract.js';
import { JQ_CAPABILITIES, jqRig } from './jq-rig.js';

jobSourceContract('jq, pushed', () => jqRig({ port: 0 }), JQ_CAPABILITIES);
jobSourceContract('jq, pulled', () => jqRig(), JQ_CAPABILITIES);
