/**
 * The lifecycle of our processes: at its start a process logs what is doubtful about its settings and secrets; it
 * reports when it is ready, shuts down gracefully on SIGTERM or SIGINT, and does not outlive the supervisor that
 * started it (`npm start` communicates with it over an IPC channel).
 */
import { unknownVariables, unsetForProduction } from '../config/likely-mistakes.ts';
import type { Foundation } from '../processes/foundation.ts';
import type { Logger } from '../telemetry/log.ts';

/**
 * One request to stop can arrive several times: from a terminal or systemd to the whole group, from the supervisor,
 * and with the end of the supervisor itself.
 */
const SAME_WISH_MS = 1_000;

/** Reports to the supervisor, if there is one, that the process is up. */
export function announceReady(detail: Readonly<Record<string, string>> = {}): void {
  process.send?.({ type: 'ready', ...detail });
}

/**
 * Waits until the process has to stop.
 *
 * @returns the reason. A signal that arrives more than a second later ends the process at once.
 */
export function waitForStopSignal(logger: Logger): Promise<string> {
  return new Promise((resolve) => {
    let requestedAt: number | undefined;
    const requestStop = (reason: string): void => {
      if (requestedAt !== undefined) return;
      requestedAt = performance.now();
      logger.info({ reason }, 'stopping');
      resolve(reason);
    };
    const onSignal = (signal: NodeJS.Signals): void => {
      if (requestedAt !== undefined && performance.now() - requestedAt > SAME_WISH_MS) {
        logger.warn({ reason: signal }, 'second signal received: stopping at once');
        process.exit(1);
      }
      requestStop(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
    // The supervisor is gone, for whatever reason.
    if (process.channel !== undefined) {
      process.once('disconnect', () => requestStop('the supervisor ended'));
      // Listening must not keep a finished process alive.
      process.channel.unref();
    }
  });
}

/** Writes the warnings of Node and of libraries to the log, instead of as plain text between its lines. */
export function logProcessWarnings(logger: Logger): void {
  process.removeAllListeners('warning');
  process.on('warning', (warning) => logger.warn({ err: warning }, warning.message));
}

/** Runs `act` at every SIGHUP, which then does not end the process. @param act must not throw. */
export function onHangUp(act: () => Promise<void>): void {
  process.on('SIGHUP', () => void act());
}

/**
 * Logs which variables look like misspelled settings. Under `npm start` the supervisor has already reported them, once
 * for all roles.
 */
export function warnOfUnknownVariables(environment: NodeJS.ProcessEnv, logger: Logger): void {
  if (environment['DARKROOM_EMBEDDED'] === 'true') return;
  for (const { name, message } of unknownVariables(environment)) logger.warn({ variable: name }, message);
}

/** Logs what production usually sets and is not set, for roles that run for long. */
export function warnOfUnsetVariables(environment: NodeJS.ProcessEnv, logger: Logger, role: 'api' | 'worker'): void {
  const unset = unsetForProduction(environment, role);
  if (unset.length === 0) return;
  const effects = unset.map(({ name, effect }) => `${name}: ${effect}`);
  logger.warn(
    { variables: unset.map(({ name }) => name) },
    `not set, although production usually does: ${effects.join('; ')}`,
  );
}

/**
 * Logs whether all stored secrets can be decrypted, and not only when a callback needs one. The process starts in any
 * case: if a key is lost, the accounts must be able to set new secrets.
 */
export async function checkStoredSecrets({ webhookKeys, database, logger }: Foundation): Promise<void> {
  try {
    const { undecryptable, total, undecryptableAccounts, undecryptableUpstreams, fallback } =
      await webhookKeys.countByKey(database);
    if (undecryptable > 0) {
      logger.error(
        { undecryptable, of: total, accounts: undecryptableAccounts, upstreams: undecryptableUpstreams },
        'stored secrets can be decrypted neither by ENCRYPTION_KEY nor by ENCRYPTION_KEY_FALLBACKS: ' +
          'see docs/operations/secure.md, "Rotating the keys"',
      );
    }
    if (fallback > 0) {
      logger.info({ fallback, of: total }, 'stored secrets still need ENCRYPTION_KEY_FALLBACKS');
    }
  } catch (err) {
    logger.warn({ err }, 'checking the stored secrets failed');
  }
}
