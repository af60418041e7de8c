/**
 * Why a connection to Temporal was not made, for those who can resolve it. The SDK's error has no code: only its text
 * shows whether nothing answers, TLS fails, or the server rejects the credentials.
 */
import type { TemporalConfig } from '../config/connections.ts';
import type { GrpcRejection } from './grpc-rejections.ts';

export interface ConnectionProblem {
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
const REJECTIONS: ReadonlyMap<string, 'permission_denied' | 'unauthenticated'> = new Map([
  ['The caller does not have permission to execute the specified operation', 'permission_denied'],
  ['The request does not have valid authentication credentials', 'unauthenticated'],
]);
/** Errors of rustls: untrusted certificates, alerts of the server, a server without TLS. */
const OF_TLS = /kind: InvalidData/;

export function connectionProblem(config: TemporalConfig, error: unknown): ConnectionProblem {
  const cause = error instanceof Error ? error.message : String(error);
  const rejection = REJECTIONS.get(STATUS_OF_REJECTION.exec(cause)?.[1] ?? '');
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
