/**
 * How a process of ours lives: it says when it is ready, ends in order on SIGTERM or SIGINT, and does not outlive the
 * supervisor that started it (`npm start` talks to it over an IPC channel).
 */
import type { Logger } from '../telemetry/log.ts';

/** Tells the supervisor, if there is one, that the process is up. */
export function announceReady(detail: Readonly<Record<string, string>> = {}): void {
  process.send?.({ type: 'ready', ...detail });
}

/**
 * Waits until the process is to end.
 *
 * @returns what asked for it. A second signal ends the process at once.
 */
export function untilAskedToStop(logger: Logger): Promise<string> {
  return new Promise((resolve) => {
    let isAsked = false;
    const ask = (reason: string): void => {
      if (isAsked) {
        logger.warn({ reason }, 'asked twice: stopping at once');
        process.exit(1);
      }
      isAsked = true;
      logger.info({ reason }, 'stopping');
      resolve(reason);
    };
    process.on('SIGTERM', () => ask('SIGTERM'));
    process.on('SIGINT', () => ask('SIGINT'));
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
