/** What bench/package.json installs at the first run; nothing of it is checked. */
declare module 'bee-queue';
declare module 'bullmq';
declare module 'echarts';
