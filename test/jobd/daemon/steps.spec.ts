import { MariaDbServer } from '../../support/mariadb-server.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { sqliteFile } from '../../support/job-rows.js';
import { inFullTier } from '../../support/tier.js';
import { stepsContract } from './steps.js';

stepsContract('SQLite', sqliteFile);
inFullTier(() => {
  stepsContract('MariaDB', () => MariaDbServer.start());
  stepsContract('PostgreSQL', () => PostgresServer.start());
});
