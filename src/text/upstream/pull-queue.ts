/**
 * Pieces of an answer between the connection that delivers them and the one reader that pulls them. The producer is
 * notified when there is enough, so that no more than that is read ahead: a slow reader does not grow our memory.
 */

export interface QueueHooks<T> {
  /** How much a piece counts toward the bound. */
  sizeOf(piece: T): number;
  /**
   * Called when the queue is full: the producer should pause until `onRoom`. Items that are pushed nevertheless are
   * stored.
   */
  onFull(): void;
  onRoom(): void;
  /** The reader waits, and there is nothing. */
  onWaiting(): void;
  /** The reader does not want the rest. */
  onAbandoned(): void;
}

/** The size, as `sizeOf` counts it, from which the queue is full: some hundred events of a text. */
const FULL = 64 * 1024;
const ROOM = 16 * 1024;

interface Waiter<T> {
  resolve(result: IteratorResult<T, undefined>): void;
  reject(error: Error): void;
}

export class PullQueue<T> implements AsyncIterableIterator<T, undefined> {
  readonly #hooks: QueueHooks<T>;
  #pieces: T[] = [];
  /** How many of them the reader has taken. */
  #taken = 0;
  #size = 0;
  #isFull = false;
  #waiter: Waiter<T> | undefined;
  #isOver = false;
  #failure: Error | undefined;

  constructor(hooks: QueueHooks<T>) {
    this.#hooks = hooks;
  }

  get isEmpty(): boolean {
    return this.#taken === this.#pieces.length;
  }

  /** The reader waits for a piece. */
  get isWaiting(): boolean {
    return this.#waiter !== undefined;
  }

  push(piece: T): void {
    if (this.#isOver) return;
    const waiter = this.#waiter;
    if (waiter !== undefined) {
      this.#waiter = undefined;
      waiter.resolve({ value: piece, done: false });
      return;
    }
    this.#pieces.push(piece);
    this.#size += this.#hooks.sizeOf(piece);
    if (this.#isFull || this.#size < FULL) return;
    this.#isFull = true;
    this.#hooks.onFull();
  }

  /** Ends the queue; the reader still gets the queued items. */
  end(): void {
    this.#close(undefined);
  }

  /** Like `end`, but after the last item the reader gets this error. */
  fail(failure: Error): void {
    this.#close(failure);
  }

  /** What is there is dropped; the reader gets this at once. */
  cut(failure: Error): void {
    this.#pieces = [];
    this.#taken = 0;
    this.#isOver = false;
    this.#close(failure);
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#taken < this.#pieces.length) {
      const value = this.#take();
      if (this.#isFull && this.#size <= ROOM) {
        this.#isFull = false;
        this.#hooks.onRoom();
      }
      return Promise.resolve({ value, done: false });
    }
    if (this.#failure !== undefined) {
      const failure = this.#failure;
      this.#failure = undefined;
      return Promise.reject(failure);
    }
    if (this.#isOver) return Promise.resolve({ value: undefined, done: true });
    if (this.#waiter !== undefined) return Promise.reject(new Error('one reader pulls one piece at a time'));
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
      this.#hooks.onWaiting();
    });
  }

  return(): Promise<IteratorResult<T, undefined>> {
    const wasOver = this.#isOver;
    this.#pieces = [];
    this.#taken = 0;
    this.#failure = undefined;
    this.#close(undefined);
    if (!wasOver) this.#hooks.onAbandoned();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): T {
    const piece = this.#pieces[this.#taken] as T;
    this.#taken += 1;
    if (this.#taken === this.#pieces.length) {
      this.#pieces = [];
      this.#taken = 0;
      this.#size = 0;
    } else {
      this.#size -= this.#hooks.sizeOf(piece);
    }
    return piece;
  }

  #close(failure: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const waiter = this.#waiter;
    this.#waiter = undefined;
    if (waiter === undefined) this.#failure = failure;
    else if (failure === undefined) waiter.resolve({ value: undefined, done: true });
    else waiter.reject(failure);
  }
}
