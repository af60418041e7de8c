/**
 * What a Temporal server rejects rather than fails to process, requests and connections: our credentials do not allow
 * it, or something that `migrate` prepares is missing. A retry changes nothing before an operator has acted.
 */
import { NamespaceNotFoundError } from '@temporalio/common';
import type { TemporalConfig } from '../config/connections.ts';

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

interface ConnectionProblem {
  /** `unreachable` may pass by itself. The others persist until an operator acts. */
  readonly reason: Extract<GrpcRejection, 'permission_denied' | 'unauthenticated'> | 'tls' | 'unreachable';
  /** What to check, and the message of the cause. */
  readonly message: string;
}

/**
 * The SDK calls this method while it connects, and translates the status into text (tonic's descriptions of gRPC
 * codes).
 */
const STATUS_OF_REJECTION = /^Failed to call GetSystemInfo: code: '([^']*)'/;
const CONNECTION_REJECTIONS: ReadonlyMap<string, 'permission_denied' | 'unauthenticated'> = new Map([
  ['The caller does not have permission to execute the specified operation', 'permission_denied'],
  ['The request does not have valid authentication credentials', 'unauthenticated'],
]);
/** Errors of rustls: untrusted certificates, alerts of the server, a server without TLS. */
const OF_TLS = /kind: InvalidData/;

/**
 * Why a connection to Temporal was not made, for those who can resolve it. The SDK's error has no code: only its text
 * shows whether nothing answers, TLS fails, or the server rejects the credentials.
 */
export function connectionProblem(config: TemporalConfig, error: unknown): ConnectionProblem {
  const cause = error instanceof Error ? error.message : String(error);
  const rejection = CONNECTION_REJECTIONS.get(STATUS_OF_REJECTION.exec(cause)?.[1] ?? '');
  if (rejection !== undefined) {
    return {
      reason: rejection,
      message: `the Temporal server at ${config.address} rejects our credentials (${rejection}). ${adviceOn(config)}: ${cause}`,
    };
  }
  if (config.tls !== undefined && OF_TLS.test(cause)) {
    return {
      reason: 'tls',
      message: `TLS with the Temporal server at ${config.address} fails. Check TEMPORAL_TLS_CA_FILE, TEMPORAL_TLS_CERT_FILE and whether the server speaks TLS: ${cause}`,
    };
  }
  return {
    reason: 'unreachable',
    message: `TEMPORAL_ADDRESS: no Temporal server answers at ${config.address}: ${cause}`,
  };
}

function adviceOn({ apiKey, tls }: TemporalConfig): string {
  const given = [
    ...(apiKey === undefined ? [] : ['TEMPORAL_API_KEY']),
    ...(tls?.certificate === undefined ? [] : ['TEMPORAL_TLS_CERT_FILE']),
  ];
  return given.length === 0
    ? 'Set TEMPORAL_API_KEY, or TEMPORAL_TLS_CERT_FILE and TEMPORAL_TLS_KEY_FILE'
    : `Check ${given.join(' and ')}, which may be revoked, expired or without access`;
}
