/** Whether a credential has the form that its upstream needs, before it is stored. */
import { findSecretProblem } from './http/auth/secret-form.ts';

/** The longest key that any server accepts in a header. */
const MAX_KEY_LENGTH = 8_192;

/**
 * @param upstream what all upstreams of a provider have in common.
 * @returns what is wrong with the credential, without any of it.
 */
export function findCredentialProblem(upstream: Readonly<Record<string, unknown>>, secret: string): string | undefined {
  const { http } = upstream;
  const auth = typeof http === 'object' && http !== null && 'auth' in http ? http.auth : undefined;
  const scheme = typeof auth === 'object' && auth !== null && 'scheme' in auth ? auth.scheme : 'bearer';
  const special = findSecretProblem(String(scheme), secret);
  if (special !== null) return special;
  if (!/^[\x21-\x7e]+$/.test(secret)) return 'a key has visible ASCII characters only, and no blanks';
  return secret.length > MAX_KEY_LENGTH ? `a key has at most ${MAX_KEY_LENGTH} characters` : undefined;
}
