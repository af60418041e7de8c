/** The credential of an upstream for `models try`: the one that a worker would use, or a placeholder. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Upstream } from '../../../catalogue/definition.ts';
import type { UpstreamEnvironment } from '../../../config/environment.ts';
import { canonicalName } from '../../../domain/credential-name.ts';
import { errorCodeOf } from '../../../domain/error-code.ts';
import type { Auth } from '../../../providers/http/auth/auth.ts';
import { createSecretSource, secretVariable } from '../../../upstreams/secrets.ts';
import { AdminError } from '../admin-error.ts';

interface Credential {
  readonly isConfigured: boolean;
  readonly secret: string | undefined;
  /** By name. */
  readonly values: Readonly<Record<string, string>>;
}

/**
 * The credential as a worker finds it in the environment, or one of the same form, so that a request can be shown
 * without it.
 *
 * @throws {AdminError} its file cannot be read.
 */
export async function findCredential(
  { secret: name }: Upstream,
  { secrets, secretFiles }: UpstreamEnvironment,
  auth: Auth | undefined,
): Promise<Credential> {
  if (name === undefined) return { isConfigured: true, secret: undefined, values: {} };
  const file = Object.entries(secretFiles).find(([each]) => canonicalName(each) === canonicalName(name))?.[1];
  const values = file === undefined ? secrets : { ...secrets, [name]: await readCredential(name, file) };
  const secret = createSecretSource(values).get(name);
  if (secret !== undefined) return { isConfigured: true, secret, values };
  const placeholder = placeholderFor(auth);
  return { isConfigured: false, secret: placeholder, values: { [name]: placeholder } };
}

async function readCredential(name: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new AdminError(`${secretVariable(name)}_FILE: ${file} cannot be read (${errorCodeOf(error)})`, {
      cause: error,
    });
  }
}

function placeholderFor(auth: Auth | undefined): string {
  const random = (): string => randomBytes(16).toString('hex');
  if (auth?.scheme !== 'google-service-account') return `${random()}:${random()}`;
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  return JSON.stringify({ client_email: 'nobody@example.com', private_key: pem });
}
