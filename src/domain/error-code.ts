/**
 * The code of an error of the system, of Node, of a library or of PostgreSQL: `ENOENT`, `UND_ERR_SOCKET`, `40P01`.
 *
 * @returns undefined if it has none.
 */
export function errorCodeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
