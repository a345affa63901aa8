import { killProcesses, TestProcess } from '../support/test-process.js';

/** For `afterEach`: ends every sample that still runs. */
export const stopSamples = killProcesses;

/** A sample as `npm run sample -- NAME …` starts it, on the built package; without REDIS_URL unless given. */
export class SampleProcess extends TestProcess {
  constructor(args: readonly string[], environment: Record<string, string> = {}) {
    const { REDIS_URL: _, ...inherited } = process.env;
    const env = { ...inherited, NO_COLOR: '1', ...environment };
    super(process.execPath, ['sample/run.mjs', ...args], { env });
    this.input('');
  }

  get output(): string {
    return this.stdout;
  }

  /** When it has ended. */
  async result(): Promise<{ code: number | null; output: string; errors: string }> {
    const { code, stdout: output, stderr: errors } = await this.ended();
    return { code, output, errors };
  }

  /** What the first match captured. @throws when the sample says nothing like it */
  async says(pattern: RegExp): Promise<string> {
    const match = await this.shows(() => pattern.exec(this.stdout), `${pattern}`);
    return match[1] ?? match[0];
  }

  /** Asks it to end and waits until it has. */
  stop(): Promise<void> {
    return this.kill('SIGTERM');
  }
}
