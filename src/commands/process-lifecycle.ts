/**
 * How a process of ours lives: it says when it is ready, ends in order on SIGTERM or SIGINT, and does not outlive the
 * supervisor that started it (`npm start` talks to it over an IPC channel).
 */
import type { Logger } from '../telemetry/log.ts';

/**
 * One wish to stop can come several times: from a terminal or systemd to the whole group, and from the supervisor, and
 * with the end of the supervisor itself.
 */
const SAME_WISH_MS = 1_000;

/** Tells the supervisor, if there is one, that the process is up. */
export function announceReady(detail: Readonly<Record<string, string>> = {}): void {
  process.send?.({ type: 'ready', ...detail });
}

/**
 * Waits until the process is to end.
 *
 * @returns what asked for it. A signal that comes more than a second after that ends the process at once.
 */
export function untilAskedToStop(logger: Logger): Promise<string> {
  return new Promise((resolve) => {
    let askedAt: number | undefined;
    const ask = (reason: string): void => {
      if (askedAt !== undefined) return;
      askedAt = performance.now();
      logger.info({ reason }, 'stopping');
      resolve(reason);
    };
    const onSignal = (signal: NodeJS.Signals): void => {
      if (askedAt !== undefined && performance.now() - askedAt > SAME_WISH_MS) {
        logger.warn({ reason: signal }, 'asked twice: stopping at once');
        process.exit(1);
      }
      ask(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
    // The supervisor is gone, however it went.
    if (process.channel !== undefined) {
      process.once('disconnect', () => ask('the supervisor ended'));
      // Listening must not keep alive a process that has finished.
      process.channel.unref();
    }
  });
}

/** Has SIGHUP do something, once more with each one, instead of ending the process. @param act must not throw. */
export function onHangUp(act: () => Promise<void>): void {
  process.on('SIGHUP', () => void act());
}
