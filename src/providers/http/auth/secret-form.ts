/** The form of the secret that each scheme needs. */
import { textAt } from '../../json-answer.ts';
import { CredentialError } from '../../upstream-target.ts';

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

/** @param form what the secret has to look like, for the operator. @returns what stands before and after the first colon. */
export function splitSecret(secret: string, form: string): readonly [string, string] {
  const colon = secret.indexOf(':');
  if (colon < 1 || colon === secret.length - 1) throw malformed(`must have the form ${form}`);
  return [secret.slice(0, colon), secret.slice(colon + 1)];
}

/** @throws {CredentialError} it is not the JSON key file of a service account. */
export function readKeyFile(secret: string): { email: string; keyId: string | undefined; privateKey: string } {
  let json: unknown;
  try {
    json = JSON.parse(secret);
  } catch {
    throw malformed('must be the JSON key file of a service account');
  }
  const email = textAt(json, 'client_email');
  const privateKey = textAt(json, 'private_key');
  if (email === undefined || privateKey === undefined) {
    throw malformed('must be the JSON key file of a service account, with client_email and private_key');
  }
  return { email, keyId: textAt(json, 'private_key_id'), privateKey };
}

/** @param what is wrong with a secret. */
export function malformed(what: string): CredentialError {
  return new CredentialError(`the credential ${what}`, { isPermanent: true });
}
