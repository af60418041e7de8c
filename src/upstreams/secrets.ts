/**
 * The credentials of upstreams, by name. A model's definition names a credential and never holds one, so that
 * definitions can be stored, shown and diffed. Configuration reads `UPSTREAM_<NAME>_KEY`; this module only looks them
 * up.
 */

import { canonicalName } from '../domain/upstream-names.ts';

/** Where an adapter finds the credential that a binding names. */
export interface SecretSource {
  /**
   * The credential of that name, or undefined if none is configured (an empty one counts as none). Case and the
   * difference between `-` and `_` do not matter: environment variables have neither.
   */
  get(name: string): string | undefined;
}

/**
 * Creates a source from the configured credentials.
 *
 * @param values credential by name, the name as in `UPSTREAM_<NAME>_KEY`. Blanks and line ends around a credential are
 *   removed: files that hold secrets usually end in a line end, and no header may carry it.
 */
export function createSecretSource(values: Readonly<Record<string, string>>): SecretSource {
  const byName = new Map<string, string>();
  for (const [name, value] of Object.entries(values)) {
    const secret = value.trim();
    if (secret !== '') byName.set(canonicalName(name), secret);
  }
  return { get: (name) => byName.get(canonicalName(name)) };
}

/** The variable that holds the credential of that name. */
export function secretVariable(name: string): string {
  return `UPSTREAM_${canonicalName(name).toUpperCase()}_KEY`;
}
