/** Where daemons log. Messages contain no passwords and no output of jobs. */
export interface JobdLog {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}
