// A wrong clock, as a host may have one: with the environment's CHAOS_CLOCK all times that this process reads from its
// clock are so many ms off. Loaded before everything else, with `--import`, also in threads.
const RealDate = Date;
const by = Number(process.env['CHAOS_CLOCK'] ?? 0);

/** The machine's time, whatever the clock of this process says. */
export const realNow = () => RealDate.now();

if (by !== 0) {
  globalThis.Date = class Date extends RealDate {
    constructor(...parts) {
      if (parts.length === 0) super(RealDate.now() + by);
      else super(...parts);
    }

    static now() {
      return RealDate.now() + by;
    }
  };
}
