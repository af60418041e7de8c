/** The keys with which the roles of one installation run: those of the environment, and its own of `secrets.json`. */
import { EnvironmentReader } from '../config/environment.ts';
import type { InstallationSecrets } from './secrets.ts';
import { isSet } from './settings.ts';

/**
 * A key of the environment replaces the one of `secrets.json`, but not its fallbacks: a rotation has left them there,
 * and stored data may need them until it is finished. Problems of the variables are reported by the roles, which read
 * them.
 *
 * @returns variables that override the environment.
 */
export function keyVariables(
  secrets: Pick<InstallationSecrets, KeyField>,
  environment: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  const read = new EnvironmentReader(environment);
  const fallbacks = (name: FallbackName, own: readonly string[] = []): NodeJS.ProcessEnv => ({
    [name]: [...new Set([...read.longSecrets(name), ...own])].join(','),
    // Its content is in the list.
    [`${name}_FILE`]: undefined,
  });
  return {
    ...(isSet(environment, 'URL_SIGNING_KEY') ? {} : { URL_SIGNING_KEY: secrets.urlSigningKey }),
    ...(isSet(environment, 'ENCRYPTION_KEY') ? {} : { ENCRYPTION_KEY: secrets.encryptionKey }),
    ...fallbacks('URL_SIGNING_KEY_FALLBACKS', secrets.urlSigningKeyFallbacks),
    ...fallbacks('ENCRYPTION_KEY_FALLBACKS', secrets.encryptionKeyFallbacks),
  };
}

type KeyField = 'urlSigningKey' | 'encryptionKey' | 'urlSigningKeyFallbacks' | 'encryptionKeyFallbacks';
type FallbackName = 'URL_SIGNING_KEY_FALLBACKS' | 'ENCRYPTION_KEY_FALLBACKS';
