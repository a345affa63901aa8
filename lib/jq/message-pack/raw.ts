/** A value as its sender wrote it: bytes of MessagePack that are stored and forwarded, and not decoded. */
export class Raw {
  constructor(readonly bytes: Buffer) {}

  static readonly NIL = new Raw(Buffer.of(0xc0));
  static readonly EMPTY_MAP = new Raw(Buffer.of(0x80));

  get isNil(): boolean {
    return this.bytes.length === 1 && this.bytes[0] === 0xc0;
  }

  get isMap(): boolean {
    const first = this.bytes[0] ?? 0;
    return (first >= 0x80 && first <= 0x8f) || first === 0xde || first === 0xdf;
  }

  get isArray(): boolean {
    const first = this.bytes[0] ?? 0;
    return (first >= 0x90 && first <= 0x9f) || first === 0xdc || first === 0xdd;
  }

  /** Whether it is text (`str`, not `bin`). */
  get isText(): boolean {
    const first = this.bytes[0] ?? 0;
    return (first >= 0xa0 && first <= 0xbf) || (first >= 0xd9 && first <= 0xdb);
  }

  /** Whether it is an integer of any width: Go writes small numbers in eight bytes. */
  get isInteger(): boolean {
    const first = this.bytes[0] ?? 0;
    return first <= 0x7f || first >= 0xe0 || (first >= 0xcc && first <= 0xd3);
  }
}
