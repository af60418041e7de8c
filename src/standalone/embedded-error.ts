/**
 * What `npm start` tells its user when it cannot go on. Kept apart from programming errors: these are printed as
 * they are, without a stack, and so each says what to do.
 */
export class EmbeddedError extends Error {
  override readonly name = 'EmbeddedError';
}

/** The system's code of an error (`ENOSPC`, `EACCES`), or `''`. */
export function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
