/** Packages that are installed at the first run; their types are not checked. */
declare module 'bee-queue';
declare module 'bullmq';
declare module 'echarts';
