/**
 * Combines what concerns one account. All of it changes that account's one row of counters, and a commit holds the
 * row until it is on disk, so that one after the other they take a disk write each. Whatever arrives while one
 * statement of an account runs is therefore part of its next (docs/decisions/0012): a lone request waits for nothing,
 * many share one commit, and accounts never wait for each other.
 */

export interface Batches<Item> {
  /**
   * Adds an item that a caller waits for: it is processed at once, or with the next statement if one is in progress.
   */
  add(accountId: string, item: Item): void;
  /** Adds an item that no caller waits for: it goes before what is added next, or by itself after this time. */
  addLater(accountId: string, item: Item, withinMs: number): void;
  /** Processes everything that is there by now; what `work` adds again in the meantime stays. */
  flush(): Promise<void>;
}

interface Queue<Item> {
  readonly urgent: Item[];
  readonly later: Item[];
  /** How long the latter may wait. */
  laterMs: number;
  timer: NodeJS.Timeout | undefined;
  working: Promise<void> | undefined;
}

export interface BatchOptions<Item> {
  /** Processes every item of one account; must not throw. */
  readonly work: (accountId: string, items: readonly Item[]) => Promise<void>;
  /** How many of the first items fit in one statement: at least one. */
  readonly fitting: (items: readonly Item[]) => number;
}

export function createBatches<Item>({ work, fitting }: BatchOptions<Item>): Batches<Item> {
  /** The queue of each account that has items. */
  const queues = new Map<string, Queue<Item>>();

  const queueOf = (accountId: string): Queue<Item> => {
    const known = queues.get(accountId);
    if (known !== undefined) return known;
    const queue: Queue<Item> = { urgent: [], later: [], laterMs: 0, timer: undefined, working: undefined };
    queues.set(accountId, queue);
    return queue;
  };

  const drain = async (accountId: string, queue: Queue<Item>): Promise<void> => {
    /** How many of the latter are there by now: what `work` adds again is left for another time. */
    let due = 0;
    do {
      if (due === 0) due = queue.later.length;
      const later = queue.later.splice(0, due === 0 ? 0 : fitting(queue.later.slice(0, due)));
      due -= later.length;
      // Nothing overtakes what came before it.
      const urgent = due === 0 && queue.urgent.length > 0 ? queue.urgent.splice(0, fitting(queue.urgent)) : [];
      await work(accountId, [...later, ...urgent]);
    } while (queue.urgent.length > 0 || due > 0);
    queue.working = undefined;
    if (queue.later.length > 0) wait(accountId, queue);
    else queues.delete(accountId);
  };

  const start = (accountId: string, queue: Queue<Item>): void => {
    clearTimeout(queue.timer);
    queue.timer = undefined;
    queue.working = drain(accountId, queue);
  };

  const wait = (accountId: string, queue: Queue<Item>): void => {
    queue.timer ??= setTimeout(() => start(accountId, queue), queue.laterMs).unref();
  };

  return {
    add(accountId, item) {
      const queue = queueOf(accountId);
      queue.urgent.push(item);
      if (queue.working === undefined) start(accountId, queue);
    },
    addLater(accountId, item, withinMs) {
      const queue = queueOf(accountId);
      queue.later.push(item);
      queue.laterMs = withinMs;
      if (queue.working === undefined) wait(accountId, queue);
    },
    async flush() {
      const finish = async ([accountId, queue]: readonly [string, Queue<Item>]): Promise<void> => {
        await queue.working;
        if (queue.working === undefined && queue.later.length > 0) start(accountId, queue);
        await queue.working;
      };
      await Promise.all([...queues].map(finish));
    },
  };
}
