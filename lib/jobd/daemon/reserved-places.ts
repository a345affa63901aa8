import type { ManualPlaces } from '../rows/manual-acceptance.js';
import type { AcceptedJob } from '../storage/accepted-job.js';
import type { Targets } from '../rows/targets.js';

type Place = Pick<AcceptedJob, 'id' | 'target'>;

/** Slots reserved in the daemon's targets, so that manual rows begin at once. */
export class ReservedPlaces implements ManualPlaces {
  private readonly held = new Map<string, Place>();

  constructor(private readonly targets: Targets) {}

  serves(target: string): boolean {
    return this.targets.has(target);
  }

  begins(place: Place): boolean {
    const key = keyOf(place);
    if (this.held.has(key)) return true;
    const isFree = this.targets.reserve(place);
    if (isFree) this.held.set(key, place);
    return isFree;
  }

  beginsIn(id: number): readonly string[] {
    return this.targets.names.filter((target) => this.begins({ id, target }));
  }

  giveUp(): void {
    this.settle([]);
  }

  /** Gives up all places but those of `begun`, which are theirs from now on. */
  settle(begun: readonly Place[]): void {
    for (const place of begun) this.held.delete(keyOf(place));
    for (const place of this.held.values()) this.targets.free(place);
    this.held.clear();
  }
}

function keyOf({ id, target }: Place): string {
  return `${id} ${target}`;
}
