const CLEAR_LINE = '\r\u001b[K';

/** A line on stderr that shows how far the program is; only on a terminal. */
export class StatusLine {
  readonly #isShown: boolean;
  #hasText = false;

  constructor(json: boolean) {
    this.#isShown = !json && process.stderr.isTTY === true && process.env['TERM'] !== 'dumb';
  }

  show(text: string): void {
    if (!this.#isShown) return;
    const { columns = 80 } = process.stderr;
    this.#hasText = true;
    process.stderr.write(CLEAR_LINE + [...text].slice(0, columns - 1).join(''));
  }

  clear(): void {
    if (this.#hasText) process.stderr.write(CLEAR_LINE);
    this.#hasText = false;
  }
}
