/** The longest `timeout` of a poll. To wait longer, poll again. */
export const LONGEST_POLL_SECONDS = 60;
export const DEFAULT_POLL_SECONDS = 5;
