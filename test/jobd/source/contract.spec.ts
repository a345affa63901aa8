import { jobSourceContract } from '../../contract/job-source-contract.js';
import { sqliteFile } from '../../support/job-rows.js';
import { MariaDbServer } from '../../support/mariadb-server.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { JOBD_CAPABILITIES, jobdRig } from './jobd-rig.js';

jobSourceContract('jobd on SQLite', () => jobdRig(sqliteFile), JOBD_CAPABILITIES);
jobSourceContract('jobd on MariaDB', () => jobdRig(() => MariaDbServer.start()), JOBD_CAPABILITIES);
jobSourceContract('jobd on PostgreSQL', () => jobdRig(() => PostgresServer.start()), JOBD_CAPABILITIES);
