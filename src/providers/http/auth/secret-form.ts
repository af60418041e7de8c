/** The form of the secret that each scheme needs. */
import { CredentialError } from '../../upstream-target.ts';
import { readKeyFile, splitSecret } from './token-endpoint.ts';

/** What a secret of two parts looks like. */
const PAIRS: Readonly<Record<string, string>> = {
  basic: 'user:password',
  'jwt-hs256': 'issuer:key',
  sigv4: 'access-key-id:secret-access-key',
  'oauth2-client': 'client-id:client-secret',
};

/** @returns what is wrong with a secret; undefined: nothing; null: the scheme uses it as a key. */
export function findSecretProblem(scheme: string, secret: string): string | undefined | null {
  const pair = PAIRS[scheme];
  if (pair === undefined && scheme !== 'google-service-account') return null;
  try {
    if (pair === undefined) readKeyFile(secret);
    else splitSecret(secret, pair);
    return undefined;
  } catch (error) {
    if (error instanceof CredentialError) return error.message;
    throw error;
  }
}
