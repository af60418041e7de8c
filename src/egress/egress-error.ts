/**
 * What can go wrong on the way out, in the classes that callers act on and clients see (contract §6: `tls`, `timeout`,
 * `unreachable`). Texts hold no host names: they can end where clients read.
 */

/**
 * `status`: a download answered with anything but 2xx, or with an encoding that was not asked for. `too_large`: more
 * bytes than the bound. `unreachable`: everything else, a blocked address included.
 */
export type EgressFailureKind = 'tls' | 'timeout' | 'unreachable' | 'status' | 'too_large';

/** An exchange that did not come to its end. */
export class EgressError extends Error {
  override readonly name = 'EgressError';
  readonly kind: EgressFailureKind;
  /** The HTTP status, where `kind` is `status`. */
  readonly status: number | undefined;
  /** Whether asking again brings the same: the address may not be reached at all. For us, and never for clients. */
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

/** The guard refused. It stays inside this folder: callers get `unreachable`, so that nobody can map our network by it. */
export class BlockedError extends Error {
  override readonly name = 'BlockedError';
  /** The address that was refused, where it came to one. */
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
