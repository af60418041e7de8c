/** When the work of `models try` has to stop. */

/** One interrupt can arrive twice: from the terminal, and from npm. */
const SAME_INTERRUPT_MS = 1_000;
/** 128 and the number of SIGINT. */
const EXIT_INTERRUPTED = 130;

export interface Stopping {
  readonly signal: AbortSignal;
  end(): void;
}

/**
 * Stops the work at its deadline, or when it is interrupted; a second interrupt ends the process.
 *
 * @param save what must not be lost then.
 */
export function startStopping(timeoutSeconds: number, save: () => void): Stopping {
  const controller = new AbortController();
  const timer = setTimeout(
    () => controller.abort(new Error(`it took longer than ${timeoutSeconds} s`)),
    timeoutSeconds * 1_000,
  );
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
    end(): void {
      clearTimeout(timer);
      process.off('SIGINT', onInterrupt);
    },
  };
}
