import { defineJob } from 'nestjs-gearmonkey';

export interface Mail {
  to: string;
  tenant: string;
}

/** What the job is, shared by pusher and worker. Arguments of JQ are maps. */
export const mail = defineJob<Mail, string>('mail', { timeout: '10s', retry: { attempts: 3 } });
