import { Inject, Injectable } from '@nestjs/common';
import type { JobErrorInfo } from '../job/errors.js';
import { DASHBOARD, type CheckedDashboard, type ShownText } from './dashboard.options.js';

/** What is shown if `redact` throws or returns no text: never the text itself. */
const HIDDEN = '(hidden)';

type Shown = Pick<ShownText, 'instance' | 'fn'>;

/** Passes everything that people wrote into jobs through the app's `redact`. */
@Injectable()
export class Redaction {
  constructor(@Inject(DASHBOARD) private readonly options: CheckedDashboard) {}

  text(text: string, part: ShownText['part'], of: Shown): string {
    const { redact } = this.options;
    if (!redact) return text;
    try {
      const shown: unknown = redact({ text, part, instance: of.instance, fn: of.fn });
      return typeof shown === 'string' ? shown : HIDDEN;
    } catch {
      return HIDDEN;
    }
  }

  error<E extends JobErrorInfo>(error: E, of: Shown): E {
    if (!this.options.redact) return error;
    const { message, stack, cause } = error;
    return {
      ...error,
      message: this.text(message, 'error', of),
      ...(stack !== undefined && { stack: this.text(stack, 'error', of) }),
      ...(cause !== undefined && { cause: this.error(cause, of) }),
    };
  }

  headers(headers: Readonly<Record<string, string>>, of: Shown): Record<string, string> {
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, this.text(value, 'header', of)]),
    );
  }
}
