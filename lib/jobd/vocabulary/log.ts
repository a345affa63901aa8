/** Where the daemons say what happens. Messages hold no passwords and no output of jobs. */
export interface JobdLog {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}
