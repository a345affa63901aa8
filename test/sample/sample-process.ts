import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { until } from '../support/until.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const living = new Set<SampleProcess>();

/** For `afterEach`: ends every sample that still runs. */
export async function stopSamples(): Promise<void> {
  await Promise.all([...living].map((sample) => sample.stop()));
}

/** A busy machine takes its time to start an app. */
const PATIENCE_MS = 25_000;

/** A sample as `npm run sample -- NAME …` starts it, on the built package; without REDIS_URL unless given. */
export class SampleProcess {
  /** The exit code; null when a signal ended it. */
  private readonly exit: Promise<number | null>;
  readonly #child: ChildProcess;
  #output = '';
  #errors = '';

  constructor(args: readonly string[], environment: Record<string, string> = {}) {
    const { REDIS_URL: _, ...inherited } = process.env;
    const child = spawn(process.execPath, ['sample/run.mjs', ...args], {
      cwd: ROOT,
      env: { ...inherited, NO_COLOR: '1', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#errors += text));
    living.add(this);
    this.exit = once(child, 'close').then(([code]) => {
      living.delete(this);
      return code as number | null;
    });
  }

  get output(): string {
    return this.#output;
  }

  /** When it has ended. */
  async result(): Promise<{ code: number | null; output: string; errors: string }> {
    return { code: await this.exit, output: this.#output, errors: this.#errors };
  }

  /** What the first match captured. @throws when the sample says nothing like it */
  async says(pattern: RegExp): Promise<string> {
    const options = { message: `It does not say ${pattern}`, timeout: PATIENCE_MS };
    const match = await until(() => pattern.exec(this.#output), options);
    return match[1] ?? match[0];
  }

  /** Asks it to end and waits until it has. */
  stop(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    return this.exit;
  }
}
