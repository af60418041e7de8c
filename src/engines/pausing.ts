/**
 * How a long rendering gives its place among the engine threads to somebody else and takes it up again. The pool says
 * through shared memory that somebody waits; the rendering looks there between two parts of its work and, where it is
 * asked to, stands still until the pool lets it go on. Nothing of its state moves, so the bytes that it makes stay the same.
 */

/** What the one shared number says. */
const GOES_ON = 0;
const IS_ASKED = 1;
const IS_PAUSED = 2;

/** The least time that a rendering works between two pauses, so that taking turns costs little: milliseconds. */
const SLICE_MS = 250;

/** One job's side in the pool. */
export interface PauseControl {
  /** Is given to the thread. */
  readonly shared: Int32Array;
  /** Asks the job to pause at its next opportunity, or takes that back where it has not done so yet. */
  ask(isWanted: boolean): void;
  /** Lets a paused job go on. */
  resume(): void;
}

export function createPauseControl(): PauseControl {
  const shared = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  return {
    shared,
    ask(isWanted) {
      if (isWanted) Atomics.compareExchange(shared, 0, GOES_ON, IS_ASKED);
      else Atomics.compareExchange(shared, 0, IS_ASKED, GOES_ON);
    },
    resume() {
      Atomics.store(shared, 0, GOES_ON);
      Atomics.notify(shared, 0);
    },
  };
}

/**
 * The thread's side: a function to be called between two parts of the work, where no timer of the rendering runs. Costs
 * nothing where nobody waits; else it blocks the thread until the pool resumes it.
 *
 * @param tellPaused is called before it stands still.
 */
export function createPausePoint(shared: Int32Array, tellPaused: () => void): () => void {
  let workingSince = Date.now();
  return () => {
    if (Date.now() - workingSince < SLICE_MS) return;
    if (Atomics.compareExchange(shared, 0, IS_ASKED, IS_PAUSED) !== IS_ASKED) return;
    tellPaused();
    Atomics.wait(shared, 0, IS_PAUSED);
    workingSince = Date.now();
  };
}
