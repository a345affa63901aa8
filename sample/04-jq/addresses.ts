/** Where the master keeps its state. */
export const redis = process.env['REDIS_URL'] || 'redis://127.0.0.1:6379';
/** Where the master listens. */
export const port = Number(process.env['PORT'] ?? 8080);
export const master = process.env['MASTER_URL'] || `http://127.0.0.1:${port}`;
