import {
  EmbeddedSource as Source,
  embeddedConnections,
  embeddedServer,
} from '../../lib/embedded/open-embedded.js';
import { RedisStore, type RedisStoreOptions } from '../../lib/gearmonkey/redis-store.js';

/** A store of jobs in this process, for tests that change what it does. */
export class EmbeddedStore extends RedisStore {
  constructor(server = embeddedServer('memory:'), options: Partial<RedisStoreOptions> = {}) {
    const { commands, hub } = embeddedConnections(server);
    super(commands, hub, { timeout: 5000, system: 'memory', ...options });
  }
}

/** The source of such jobs. */
export class EmbeddedSource extends Source {
  constructor(server = embeddedServer('memory:')) {
    super(embeddedConnections(server), { system: 'memory' });
  }
}
