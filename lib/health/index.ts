export { GearMonkeyHealthIndicator, type HealthLimits } from './health.indicator.js';
export { GearMonkeyHealthModule } from './health.module.js';
