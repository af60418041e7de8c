/** How many of one thing an account may have under way in one process: counted in memory, because it ends with it. */

export interface AccountSlots {
  /** Runs work in a slot of the account. Throws the refusal where none is free; it waits for nothing. */
  run<T>(accountId: string, work: () => Promise<T>): Promise<T>;
}

/** @param refusal what is thrown where as many are under way as may be. */
export function createAccountSlots(atOnce: number, refusal: () => Error): AccountSlots {
  const underWay = new Map<string, number>();
  return {
    async run(accountId, work) {
      const count = underWay.get(accountId) ?? 0;
      if (count >= atOnce) throw refusal();
      underWay.set(accountId, count + 1);
      try {
        return await work();
      } finally {
        const left = (underWay.get(accountId) ?? 1) - 1;
        if (left === 0) underWay.delete(accountId);
        else underWay.set(accountId, left);
      }
    },
  };
}
