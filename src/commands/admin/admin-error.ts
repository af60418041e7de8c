/**
 * Errors of admin commands, with messages for the operator. Errors of other modules that an operator can resolve are
 * translated here; anything else is a bug and keeps its stack.
 */
import { WrongEncryptionKeyError } from '../../accounts/secret-cipher.ts';
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { factsOf } from '@darkroom/api/facts/error-kinds';

/** An error that the operator can resolve; the message explains how. */
export class AdminError extends DarkroomError {
  override readonly name = 'AdminError';
  override readonly kind = 'invalid_request';
}

/** @returns the same error, or one that explains how the operator resolves it, with the option at fault before it. */
export function explainError(error: unknown): unknown {
  if (error instanceof WrongEncryptionKeyError) {
    return new AdminError(
      `${error.message}: add it to ENCRYPTION_KEY_FALLBACKS, or, where it is lost, delete the secret and set a new one`,
      { cause: error },
    );
  }
  if (!(error instanceof DarkroomError) || error instanceof AdminError || factsOf(error.kind).category !== 'request')
    return error;
  const { param, message } = error;
  return new AdminError(param === undefined ? message : `${optionOf(param)}: ${message}`, { cause: error });
}

/** `groupBy` as an option: `--group-by`. */
function optionOf(param: string): string {
  return `--${param.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
