import { defineJob } from 'nestjs-gearmonkey';

/** Its output is how many rows were new. */
export const importFile = defineJob<{ file: string }, number>('import-file');
