import { CAPABILITIES } from '../../contract/capabilities.js';
import { jobSourceContract } from '../../contract/job-source-contract.js';
import { sqliteFile } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { inFullTier } from '../../support/tier.js';
import { jobdRig } from './jobd-rig.js';

jobSourceContract('jobd on SQLite', () => jobdRig(sqliteFile), CAPABILITIES.jobd);
jobSourceContract('jobd on MariaDB', () => jobdRig(() => MariaDbServer.start()), CAPABILITIES.jobd);
inFullTier(() =>
  jobSourceContract('jobd on PostgreSQL', () => jobdRig(() => PostgresServer.start()), CAPABILITIES.jobd),
);
