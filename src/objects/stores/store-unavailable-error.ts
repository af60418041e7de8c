/**
 * The one error by which a store reports that it could not do its work: disk full, no permission, network, wrong
 * credentials. Separate from the port because only stores throw it; callers respond with 503 or retry later.
 */
import { DarkroomError } from '../../domain/darkroom-error.ts';
import { errorCodeOf } from '../../domain/error-code.ts';

/** What a store was doing when it failed. */
export type StoreOperation = 'put' | 'head' | 'read' | 'delete' | 'list' | 'check';

/** The store failed, not the caller. `cause` has the system's or the server's own error, for the log only. */
export class StoreUnavailableError extends DarkroomError {
  override readonly name = 'StoreUnavailableError';
  override readonly kind = 'unavailable';
  readonly operation: StoreOperation;

  constructor(operation: StoreOperation, options: { cause: unknown }) {
    super(`the object store could not ${operation}: ${codeOf(options.cause)}`, options);
    this.operation = operation;
  }

  /** Names the store: the rest of the service may work. */
  override get publicMessage(): string {
    return 'the object store is not available at this moment; retry with the same Idempotency-Key';
  }
}

/** A short, safe word for what happened (`ENOSPC`, `AccessDenied`): messages of the system hold paths and hosts. */
function codeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown error';
  return errorCodeOf(cause) ?? cause.name;
}
