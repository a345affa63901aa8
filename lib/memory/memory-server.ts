import { MemoryFunction } from './memory-function.js';

export interface MemoryServerOptions {
  /** How often a job may lose its worker before it ends as an error. @default 3 */
  maxStalls?: number;
}

/** What Redis is to the others, in this process: gone with it. */
export class MemoryServer {
  private readonly functions = new Map<string, MemoryFunction>();

  constructor(private readonly options: MemoryServerOptions = {}) {}

  function(name: string): MemoryFunction {
    let found = this.functions.get(name);
    if (!found) {
      found = new MemoryFunction(name, this.options.maxStalls ?? 3);
      this.functions.set(name, found);
    }
    return found;
  }
}

const named = new Map<string, MemoryServer>();

/** `memory:` is a server of the caller's own; `memory:NAME` is shared by all of this process who name it. */
export function memoryServer(url: string, options?: MemoryServerOptions): MemoryServer {
  const name = url.slice('memory:'.length);
  if (name === '') return new MemoryServer(options);
  const server = named.get(name) ?? new MemoryServer(options);
  named.set(name, server);
  return server;
}
