/** The state of a key, and how it is distinguished from others. */
import type { Key } from '../../api/keys.ts';

export type KeyState = 'active' | 'ending' | 'expired' | 'revoked';

/** @param nowMs milliseconds since 1970. */
export function stateOf(key: Pick<Key, 'revoked' | 'expiresAt' | 'replacedBy'>, nowMs: number): KeyState {
  if (key.revoked !== 0) return 'revoked';
  if (key.expiresAt !== 0 && key.expiresAt * 1000 <= nowMs) return 'expired';
  return key.replacedBy === null ? 'active' : 'ending';
}

/** Whether it is still accepted. */
export function isActive(state: KeyState): boolean {
  return state === 'active' || state === 'ending';
}
