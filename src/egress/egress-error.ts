/**
 * What can go wrong in an outgoing exchange, in the classes that callers act on and clients see (contract §6: `tls`,
 * `timeout`, `unreachable`). Messages contain no host names: they can reach clients.
 */

/**
 * `status`: a download responded with anything but 2xx, or with an encoding that was not requested. `too_large`: more
 * bytes than the bound. `unreachable`: everything else, a blocked address included.
 */
export type EgressFailureKind = 'tls' | 'timeout' | 'unreachable' | 'status' | 'too_large';

/** An exchange that did not complete. */
export class EgressError extends Error {
  override readonly name = 'EgressError';
  readonly kind: EgressFailureKind;
  /** The HTTP status, if `kind` is `status`. */
  readonly status: number | undefined;
  /** Whether a retry gives the same result: the address may not be reached at all. For us, and never for clients. */
  readonly isBarred: boolean;

  constructor(
    kind: EgressFailureKind,
    message: string,
    options: { status?: number; isBarred?: boolean; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.kind = kind;
    this.status = options.status;
    this.isBarred = options.isBarred === true;
  }
}

/**
 * The guard denied access. It stays inside this directory: callers get `unreachable`, so that no client can map our
 * network with it.
 */
export class BlockedError extends Error {
  override readonly name = 'BlockedError';
  /** The denied address, if it came to one. */
  readonly address: string | undefined;

  constructor(problem: string, address?: string) {
    super(problem);
    this.address = address;
  }
}

/** The handshake failed: no trusted chain, another name, not TLS at all. */
export class HandshakeError extends Error {
  override readonly name = 'HandshakeError';
}
