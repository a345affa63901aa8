export { GearMonkeyMetrics, GearMonkeyMetricsModule, type MetricsModuleOptions } from './metrics.module.js';
export type { MetricsText } from './prometheus.js';
