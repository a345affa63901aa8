import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';

/** The machine and its load before the benchmark. */
export function describeHost() {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown CPU',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${release()}`,
    node: process.version,
    loadAverage: loadavg(),
  };
}
