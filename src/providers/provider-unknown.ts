/**
 * What adapters throw when a provider gave no clear answer, in addition to the two certain outcomes of `provider.ts`.
 * Both carry only a status and a code from a closed alphabet: a provider's text, a URL, a key or a prompt must
 * not reach a message, because messages and causes end up in Temporal's histories. For that reason there is no cause.
 */

/** The few facts that may be reported about a failed exchange. */
export interface ExchangeFault {
  /** The HTTP status, if one arrived. */
  readonly status?: number | undefined;
  /** One of our codes, or one of Node or the HTTP client: `TIMEOUT`, `ECONNRESET`, `UND_ERR_SOCKET`. */
  readonly code?: string | undefined;
}

function describe(fault: ExchangeFault): string {
  const parts = [fault.status === undefined ? '' : `status ${fault.status}`, fault.code ?? ''].filter(Boolean);
  return parts.length === 0 ? 'no answer' : parts.join(', ');
}

/**
 * The work was sent, and it is unknown whether it was accepted: the connection was lost, the provider failed with 5xx,
 * or its response could not be understood. Only a repeatable submit may be retried.
 */
export class ProviderUnknown extends Error {
  override readonly name = 'ProviderUnknown';
  readonly status: number | undefined;
  readonly code: string | undefined;

  constructor(fault: ExchangeFault = {}) {
    super(`the outcome at the provider is unknown: ${describe(fault)}`);
    this.status = fault.status;
    this.code = fault.code;
  }
}

/** A poll of a job, or a request to cancel it, got no response. Nothing is known to have changed: try again later. */
export class ProviderUnreachable extends Error {
  override readonly name = 'ProviderUnreachable';
  readonly status: number | undefined;
  readonly code: string | undefined;
  /** How long the provider asked us to back off, if it did; at most 10 min. */
  readonly retryAfterMs: number | undefined;

  constructor(fault: ExchangeFault = {}, options: { retryAfterMs?: number | undefined } = {}) {
    super(`the provider could not be queried: ${describe(fault)}`);
    this.status = fault.status;
    this.code = fault.code;
    this.retryAfterMs = options.retryAfterMs;
  }
}
