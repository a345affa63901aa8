import { defineJob } from 'nestjs-gearmonkey';

export interface Mail {
  to: string;
  tenant: string;
}

/** The job's definition, shared by pusher and worker. Arguments of JQ jobs are maps. */
export const mail = defineJob<Mail, string>('mail', { timeout: '30s', retry: { attempts: 3 } });
