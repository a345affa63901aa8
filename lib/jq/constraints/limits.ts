/** The limits that a job falls under, and the version of the constraints they were found with. */
export interface Limits {
  readonly version: string;
  readonly limits: readonly string[];
}
