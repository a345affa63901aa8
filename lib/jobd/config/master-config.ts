import { readConfigFile } from './config-file.js';
import { OptionReader, unknownSections } from './option-reader.js';
import { readServerConfig, type ServerConfig } from './server-config.js';

export interface MasterConfig extends ServerConfig {
  /** Milliseconds. */
  readonly pingInterval?: number;
  /** Milliseconds. */
  readonly pokeThrottleInterval?: number;
  /** Pokes go to every worker that serves a target. @default false */
  readonly pollAllWorkers: boolean;
  /** Unknown options. */
  readonly unknown: readonly string[];
}

/** Reads jobd-master's configuration. @throws ConfigError */
export function readMasterConfig(path: string): MasterConfig {
  const file = readConfigFile(path);
  const options = new OptionReader(file.top);
  return {
    ...readServerConfig(options),
    pingInterval: options.milliseconds('ping_interval', [1, 86_400]),
    pokeThrottleInterval: options.milliseconds('poke_throttle_interval', [0, 86_400]),
    pollAllWorkers: options.boolean('poll_all_workers'),
    unknown: [...options.unknown(), ...unknownSections(file, [])],
  };
}
