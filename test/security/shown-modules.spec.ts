import { expect, it } from '@jest/globals';
import type { DynamicModule } from '@nestjs/common';
import { inspect } from 'node:util';
import { DashboardModule, basicAuth } from '../../lib/dashboard/index.js';
import { GearMonkeyModule } from '../../lib/index.js';
import { JobdModule } from '../../lib/jobd/index.js';
import { JqMasterModule, JqModule, jq } from '../../lib/jq/index.js';
import { QlessModule } from '../../lib/qless/index.js';

const SECRET = 'a-long-hidden-word';
const connection = { host: 'localhost', password: SECRET };
const client = { master: 'http://localhost:5679', token: SECRET };
const users = { admin: { password: SECRET } };

it.each<[string, () => DynamicModule]>([
  ['GearMonkeyModule', () => GearMonkeyModule.forRoot({ connection })],
  [
    'GearMonkeyModule with a URL',
    () => GearMonkeyModule.forRoot({ connection: `redis://:${SECRET}@localhost` }),
  ],
  ['GearMonkeyModule with a source', () => GearMonkeyModule.forRoot({ source: jq(client) } as never)],
  ['QlessModule', () => QlessModule.forRoot({ connection })],
  ['JqModule', () => JqModule.forRoot(client as never)],
  ['JqMasterModule', () => JqMasterModule.forRoot({ connection, tokens: [SECRET] } as never)],
  ['JobdModule', () => JobdModule.forRoot({ database: `mysql://jobd:${SECRET}@localhost/jobs` } as never)],
  ['DashboardModule', () => DashboardModule.forRoot({ auth: basicAuth({ users }) })],
])('what %s.forRoot returns shows no password', (_, make) => {
  const shown = make();
  expect(JSON.stringify(shown)).not.toContain(SECRET);
  expect(inspect(shown, { depth: 12, showHidden: true })).not.toContain(SECRET);
});
