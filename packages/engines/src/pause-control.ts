/**
 * How a long rendering gives its engine thread slot to another job and takes it up again. The pool requests a pause
 * through shared memory; the rendering checks the memory between two steps of its work and, if a pause is requested,
 * blocks until the pool resumes it. None of its state moves, so its output bytes stay the same.
 */

/** The values of the one shared number. */
const RUNNING = 0;
const PAUSE_REQUESTED = 1;
const PAUSED = 2;

/** The least time in milliseconds that a rendering works between two pauses, so that taking turns costs little. */
const SLICE_MS = 250;

/** The pool's side of one job. */
export interface PauseControl {
  /** Passed to the thread. */
  readonly shared: Int32Array;
  /** Requests that the job pause at its next opportunity, or withdraws the request if the job has not paused yet. */
  setRequested(isRequested: boolean): void;
  /** Resumes a paused job. */
  resume(): void;
}

export function createPauseControl(): PauseControl {
  const shared = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  return {
    shared,
    setRequested(isRequested) {
      if (isRequested) Atomics.compareExchange(shared, 0, RUNNING, PAUSE_REQUESTED);
      else Atomics.compareExchange(shared, 0, PAUSE_REQUESTED, RUNNING);
    },
    resume() {
      Atomics.store(shared, 0, RUNNING);
      Atomics.notify(shared, 0);
    },
  };
}

/**
 * The thread's side: a function to be called between two steps of the work, where no timer of the rendering runs. Costs
 * nothing if no pause is requested; else it blocks the thread until the pool resumes it.
 *
 * @param onPaused is called before it blocks.
 */
export function createPausePoint(shared: Int32Array, onPaused: () => void): () => void {
  let workingSince = Date.now();
  return () => {
    if (Date.now() - workingSince < SLICE_MS) return;
    if (Atomics.compareExchange(shared, 0, PAUSE_REQUESTED, PAUSED) !== PAUSE_REQUESTED) return;
    onPaused();
    Atomics.wait(shared, 0, PAUSED);
    workingSince = Date.now();
  };
}
