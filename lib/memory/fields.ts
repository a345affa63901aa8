/** Fields of jobs are bytes, as Redis would hold them. */
export function bytes(value: string): Uint8Array {
  return Buffer.from(value);
}

export function text(value: Uint8Array | undefined): string {
  return value ? Buffer.from(value).toString() : '';
}
