export const JEST: readonly string[];
