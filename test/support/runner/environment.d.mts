import type { JestEnvironmentConfig, EnvironmentContext } from '@jest/environment';

export default class SuiteEnvironment {
  constructor(config: JestEnvironmentConfig, context: EnvironmentContext);
  readonly global: typeof globalThis;
  teardown(): Promise<void>;
}
