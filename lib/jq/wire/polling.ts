/** The longest `timeout` of a poll: who wants to wait longer asks again. */
export const LONGEST_POLL_SECONDS = 60;
export const DEFAULT_POLL_SECONDS = 5;
