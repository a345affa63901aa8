/** Counts requests to a server that have no reply yet. */
export class Requests {
  private underWay = 0;

  get areUnderWay(): boolean {
    return this.underWay > 0;
  }

  async add<T>(request: Promise<T>): Promise<T> {
    this.underWay += 1;
    try {
      return await request;
    } finally {
      this.underWay -= 1;
    }
  }
}
