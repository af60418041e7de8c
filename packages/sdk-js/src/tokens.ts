/** Short-lived tokens for browsers and mobile applications (contract §7.1). */
import type { Token, TokenRequest } from './generated/types.ts';
import type { CallOptions } from './options.ts';
import type { Requester } from './requests.ts';

export interface Tokens {
  /** Creates a token with a part of the rights of the key. Its `token` is not shown again. */
  create(rights: TokenRequest, options?: CallOptions): Promise<Token>;
}

/** @internal */
export function createTokens(requester: Requester): Tokens {
  return { create: (rights, options = {}) => requester.call('POST', '/tokens', { body: rights }, options) };
}
