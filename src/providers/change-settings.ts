/** What operators set for a provider, validated before it is stored. */
import type { SecretCipher } from '../accounts/secret-cipher.ts';
import { storeSetting } from '../accounts/stored-upstream-settings.ts';
import type { SettingChange } from '../accounts/stored-upstream-settings.ts';
import { credentialNameOf } from '../catalogue/offer.ts';
import type { ProviderFile } from '../catalogue/provider-file.ts';
import type { Database } from '../database/database.ts';
import { isBaseUrl } from '../domain/upstream-names.ts';
import { DarkroomError } from '../domain/darkroom-error.ts';
import { findSecretProblem } from './http/auth/auth.ts';

/** The longest key that any server accepts in a header. */
const MAX_KEY_LENGTH = 8_192;

/** There is no provider of that name among the model files. */
export class ProviderNotFoundError extends DarkroomError {
  override readonly name = 'ProviderNotFoundError';
  override readonly kind = 'not_found';

  constructor() {
    super('there is no provider of that name');
  }
}

/** A setting has another form than it needs. */
export class SettingInvalidError extends DarkroomError {
  override readonly name = 'SettingInvalidError';
  override readonly kind = 'invalid_request';
  override readonly param: 'credential' | 'baseUrl';
  override readonly keyword = 'format';

  constructor(param: 'credential' | 'baseUrl', problem: string) {
    super(`invalid request: ${param}: ${problem}`);
    this.param = param;
  }
}

/**
 * Stores a change of a provider's settings. Every process adopts it within seconds.
 *
 * @throws {SettingInvalidError}
 */
export async function changeProviderSettings(
  database: Database,
  cipher: SecretCipher,
  provider: ProviderFile,
  { secret, baseUrl }: SettingChange,
): Promise<void> {
  const trimmed = secret?.trim() ?? secret;
  if (typeof trimmed === 'string') {
    const problem =
      provider.credential === 'none' ? 'the provider takes none' : findCredentialProblem(provider.upstream, trimmed);
    if (problem !== undefined) throw new SettingInvalidError('credential', problem);
  }
  if (typeof baseUrl === 'string' && !isBaseUrl(baseUrl)) {
    throw new SettingInvalidError('baseUrl', 'want an http or https URL without a user, a query and a fragment');
  }
  const name = credentialNameOf(provider);
  if (name === provider.name) {
    await storeSetting(database, cipher, name, { secret: trimmed, baseUrl });
    return;
  }
  if (secret !== undefined) await storeSetting(database, cipher, name, { secret: trimmed });
  if (baseUrl !== undefined) await storeSetting(database, cipher, provider.name, { baseUrl });
}

/**
 * Whether a credential has the form that its upstream needs.
 *
 * @param upstream what all upstreams of a provider have in common.
 * @returns what is wrong with the credential, without any of it.
 */
function findCredentialProblem(upstream: Readonly<Record<string, unknown>>, secret: string): string | undefined {
  const { http } = upstream;
  const auth = typeof http === 'object' && http !== null && 'auth' in http ? http.auth : undefined;
  const scheme = typeof auth === 'object' && auth !== null && 'scheme' in auth ? auth.scheme : 'bearer';
  const special = findSecretProblem(String(scheme), secret);
  if (special !== null) return special;
  if (!/^[\x21-\x7e]+$/.test(secret)) return 'a key has visible ASCII characters only, and no blanks';
  return secret.length > MAX_KEY_LENGTH ? `a key has at most ${MAX_KEY_LENGTH} characters` : undefined;
}
