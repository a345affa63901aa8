import { printable } from '../../job/printable.js';

/** Escape sequences of every terminal: another screen, no cursor and no wrapping of wide characters, and the way back. */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';
const CTRL_C = '\u0003';

/** The whole terminal, for a program that redraws it. `leave` restores what was there. */
export class Screen {
  #isOpen = false;

  /** @param quit is called at `q` and ctrl-c */
  enter(quit: () => void): void {
    this.#isOpen = true;
    process.stdout.write(ENTER);
    if (!process.stdin.isTTY) return;
    process.stdin.setRawMode(true).resume();
    process.stdin.on('data', (keys: Buffer) => {
      if (/[qQ]/.test(keys.toString()) || keys.includes(CTRL_C)) quit();
    });
  }

  /** Draws these lines, cut to the terminal's size. */
  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return;
    const { rows = 24, columns = 80 } = process.stdout;
    const shown = lines.slice(0, rows - 1).map((line) => [...printable(line)].slice(0, columns - 1).join(''));
    process.stdout.write(HOME + shown.map((line) => `${line}${CLEAR_LINE}\r\n`).join('') + CLEAR_BELOW);
  }

  leave(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    process.stdout.write(LEAVE);
    if (process.stdin.isTTY) process.stdin.setRawMode(false).pause();
  }
}
