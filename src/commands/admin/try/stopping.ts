/** When the work of `models try` and `models verify` has to stop. */

/** One interrupt can arrive twice: from the terminal, and from npm. */
const SAME_INTERRUPT_MS = 1_000;
/** 128 and the number of SIGINT. */
const EXIT_INTERRUPTED = 130;

export interface Stopping {
  readonly signal: AbortSignal;
  end(): void;
}

/**
 * Stops the work when it is interrupted; a second interrupt ends the process.
 *
 * @param save what must not be lost then.
 */
export function startStopping(save: () => void = () => undefined): Stopping {
  const controller = new AbortController();
  let interruptedAt: number | undefined;
  const onInterrupt = (): void => {
    const now = performance.now();
    if (interruptedAt !== undefined && now - interruptedAt < SAME_INTERRUPT_MS) return;
    if (interruptedAt !== undefined) {
      save();
      process.exit(EXIT_INTERRUPTED);
    }
    interruptedAt = now;
    process.stderr.write('Stopping; again to leave at once.\n');
    controller.abort(new Error('it was interrupted'));
  };
  process.on('SIGINT', onInterrupt);
  return {
    signal: controller.signal,
    end: () => void process.off('SIGINT', onInterrupt),
  };
}

/** Aborts with `signal`, or at the deadline of a job. */
export function startDeadline(seconds: number, signal: AbortSignal): Stopping {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error(`it took longer than ${seconds} s`)), seconds * 1_000);
  return { signal: AbortSignal.any([signal, controller.signal]), end: () => clearTimeout(timer) };
}
