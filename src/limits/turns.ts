/**
 * Turns for pieces of work that block the event loop for some hundredths of a second each: one piece in a turn of the
 * loop, and after it a pause of several times as long as it took, so that such work takes a quarter of a process at
 * most, however much there is of it. The pieces are done in the order in which they were requested.
 */
export interface Turns {
  /** Resolves when the next piece may be done; the turn is the caller's until the caller awaits something. */
  next(): Promise<void>;
}

/** The pause after each piece of work, as a multiple of the duration of the piece. */
const REST = 3;

export function createTurns(): Turns {
  const waiting: (() => void)[] = [];
  let isRunning = false;

  function run(): void {
    const begin = waiting.shift();
    if (begin === undefined) {
      isRunning = false;
      return;
    }
    const startedAt = performance.now();
    begin();
    // Work that has begun runs before the next turn of the loop.
    setImmediate(() => setTimeout(run, (performance.now() - startedAt) * REST));
  }

  return {
    next() {
      return new Promise((resolve) => {
        waiting.push(resolve);
        if (isRunning) return;
        isRunning = true;
        setImmediate(run);
      });
    },
  };
}
