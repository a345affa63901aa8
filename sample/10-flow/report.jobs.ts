import { defineJob } from 'nestjs-gearmonkey';

export const closeDay = defineJob<{ day: string }, { regions: number }>('{report}:close-day');
export const countRegion = defineJob<{ region: string; sold: number }, { region: string; sold: number }>(
  '{report}:count-region',
);
export const writeReport = defineJob<{ day: string }, string>('{report}:write');
