import type { Feature } from '../../core/feature.js';
import { Housekeeping } from './housekeeping.js';
import { RedisViews } from './redis-views.js';
import type { ViewsStore } from './view-store.js';
import { ViewsClient } from './views-client.js';

/** Lists, searches, failures and what there is of functions. */
export const views: Feature<ViewsStore> = {
  name: 'views',
  client: ViewsClient,
  source: ({ connections: { commands }, keysOf, features }) => ({
    housekeeper: () => new Housekeeping(keysOf, features.kept, () => commands.ready()),
  }),
  store: (server) => new RedisViews(server),
};
