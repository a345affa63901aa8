import type { Feature } from '../../core/feature.js';
import { Housekeeping } from './housekeeping.js';
import { explainOfTags, placeTagged } from './new-tags.js';
import { RedisViews } from './redis-views.js';
import { statisticsRights } from './statistics.js';
import { StatisticsWriter } from './statistics-writer.js';
import type { ViewsStore } from './view-store.js';
import { ViewsClient } from './views-client.js';

/** Lists, searches, failures, statistics and what there is of functions. */
export const views: Feature<ViewsStore> = {
  name: 'views',
  client: ViewsClient,
  source: ({ connections: { commands }, keysOf, problems, options, features }) => ({
    housekeeper: () => new Housekeeping(keysOf, features.kept, () => commands.ready()),
    counting: options.statistics ? new StatisticsWriter(commands, keysOf, problems) : undefined,
  }),
  store: (server) => new RedisViews(server),
  rights: statisticsRights,
  place: placeTagged,
  explain: explainOfTags,
};
