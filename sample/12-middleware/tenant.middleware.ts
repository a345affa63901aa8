import { AsyncLocalStorage } from 'node:async_hooks';
import type { JobMiddleware, JobsToEnqueue } from 'nestjs-gearmonkey';

/** Whose request, or job, this is. */
export const tenants = new AsyncLocalStorage<string>();

/** A job belongs to the tenant of the request, or of the job, that enqueued it. */
export const tenantMiddleware: JobMiddleware = {
  aroundEnqueue(jobs, next) {
    const tenant = tenants.getStore();
    if (tenant === undefined) throw new Error('Jobs are enqueued for a tenant');
    return next(jobs.map((job) => withTenant(job, tenant)));
  },

  aroundRun: ({ headers: { tenant = '' } }, next) => tenants.run(tenant, next),
};

function withTenant({ options, ...job }: JobsToEnqueue, tenant: string): JobsToEnqueue {
  return { ...job, options: { ...options, headers: { ...options.headers, tenant } } };
}
