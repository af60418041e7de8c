import { DarkroomError } from '../domain/darkroom-error.ts';

/**
 * The error that `npm start` reports to its user when it cannot continue. Separate from programming errors: these are
 * printed as they are, without a stack, and so each one says what to do.
 */
export class StandaloneError extends DarkroomError {
  override readonly name = 'StandaloneError';
  override readonly kind = 'operator_action_required';
}
