import { defineJob, defineLimit } from 'nestjs-gearmonkey';

export interface Export {
  tenant: string;
  report: number;
}

/** Two at a time of each tenant, and tenants take turns. */
export const exportReport = defineJob<Export>('export-report', {
  limit: { key: ({ tenant }) => tenant, concurrency: 2 },
});

/** What the API allows. Other functions that call it can have the same limit. */
const geoApi = defineLimit('geo-api', { rate: { max: 5, per: '500ms' } });

/** Its output is when the API was called. */
export const geocode = defineJob<{ address: string }, number>('geocode', { limit: geoApi });

/** One film at a time of each user: a second one is refused. */
export const renderFilm = defineJob<{ user: string }>('render-film', {
  limit: { key: ({ user }) => user, concurrency: 1, onFull: 'refuse' },
});
