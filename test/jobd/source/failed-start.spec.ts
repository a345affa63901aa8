import { expect, it } from '@jest/globals';
import { jobd } from '../../../lib/jobd/nest/jobd.js';
import { initDatabase } from '../../../lib/jobd/storage/init-database.js';
import { sqliteFile, SILENT } from '../../support/job-rows.js';

it('a source whose start fails starts when it is opened again', async () => {
  const server = await sqliteFile();
  const source = jobd({ database: server.url, targets: ['mail'] });
  await expect(source.open(['mail'])).rejects.toMatchObject({ code: 'JOBD_DATABASE_SETUP' });
  expect(source.health()).toMatchObject({ connected: false });
  await initDatabase(server.url, 'jobs', SILENT);
  await source.open(['mail']);
  expect(source.health()).toMatchObject({ connected: true });
  await source.close();
  await server.stop();
});
