/**
 * Requests that a Temporal server rejects rather than fails to process: our credentials do not allow them, or
 * something that `migrate` prepares is missing. A retry changes nothing before an operator has acted.
 */
import { NamespaceNotFoundError } from '@temporalio/common';

/** gRPC status codes, and their names in logs and metrics. */
const REJECTIONS: ReadonlyMap<number, GrpcRejection> = new Map([
  [3, 'invalid_argument'],
  [5, 'not_found'],
  [7, 'permission_denied'],
  [12, 'unimplemented'],
  [16, 'unauthenticated'],
]);

/** `invalid_argument` includes a search attribute that does not exist, `not_found` a namespace. */
export type GrpcRejection =
  | 'invalid_argument'
  | 'not_found'
  | 'permission_denied'
  | 'unimplemented'
  | 'unauthenticated';

/** The gRPC status code of an error of the client, or of what caused it. */
export function grpcCode(error: unknown): number | undefined {
  for (let each = error; each instanceof Error; each = each.cause) {
    if ('code' in each && typeof each.code === 'number') return each.code;
  }
  return undefined;
}

/** Why the server rejects a request; undefined if the error is of another kind. */
export function rejectionOf(error: unknown): GrpcRejection | undefined {
  // For this one the client has its own error, without a code.
  if (error instanceof NamespaceNotFoundError) return 'not_found';
  const code = grpcCode(error);
  return code === undefined ? undefined : REJECTIONS.get(code);
}

/** Whether our credentials do not allow it, or the server does not offer it at all. */
export function isForbidden(error: unknown): boolean {
  const rejection = rejectionOf(error);
  return rejection === 'permission_denied' || rejection === 'unimplemented' || rejection === 'unauthenticated';
}
